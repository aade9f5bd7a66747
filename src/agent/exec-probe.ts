import type { NodeEngine } from '../adapters/docker/node-engine.js'
import type { ExecProbe } from '../reconcile/action.js'
import type { ProbeResult } from './probe.js'

/** Of what a failing command wrote. */
const messageCharacters = 200
const hangingKept = 256

/**
 * Probes that run in the container, with the tools that its image has. The engine cannot end a command that hangs, so
 * where ours cannot be killed no further one is started beside it.
 */
export class ExecProbes {
  /** Ids of commands that did not end in their time, by container and command. */
  private readonly hanging = new Map<string, string>()

  constructor(private readonly engine: Pick<NodeEngine, 'exec' | 'execRuns'>) {}

  async run(containerId: string, { command, timeoutMs }: ExecProbe): Promise<ProbeResult> {
    const key = JSON.stringify([containerId, command])
    const before = this.hanging.get(key)
    if (before !== undefined && (await this.engine.execRuns(before)))
      return { ok: false, message: 'the command of an earlier probe still runs' }
    this.hanging.delete(key)
    const { execId, exitCode, output } = await this.engine.exec(containerId, command, timeoutMs)
    if (exitCode === null) {
      this.remember(key, execId)
      return { ok: false, message: `the command did not end within ${timeoutMs} ms` }
    }
    if (exitCode === 0) return { ok: true, message: 'the command ended with 0' }
    return { ok: false, message: beginningOf(output) || `the command ended with ${exitCode}` }
  }

  private remember(key: string, execId: string): void {
    this.hanging.set(key, execId)
    const [oldest] = this.hanging.keys()
    if (this.hanging.size > hangingKept && oldest !== undefined) this.hanging.delete(oldest)
  }
}

/** As one line, without what a database or a terminal would stumble over. */
function beginningOf(output: string): string {
  const line = output.replace(/\p{Cc}+/gu, ' ').trim()
  return [...line].slice(0, messageCharacters).join('')
}
