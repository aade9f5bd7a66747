import type { EngineExec, NodeEngine } from '../adapters/docker/node-engine.js'
import { ChunkWindow } from './chunk-window.js'
import { endProcess } from './end-process.js'
import type { AgentLog } from './log.js'
import type { ServeCall, ServedCall } from './peer-calls.js'
import { agentMethods, execInputSchema, type ExecInput, type ExecOutput } from './protocol.js'
import { replicaContainer } from './served-replica.js'

/** Bytes of one chunk, so that output of one process does not hold up the channel. */
const chunkBytes = 16 * 1024

/** Serves `exec`. Only in containers of this instance, whoever asks. The process ends with its call. */
export function serveExec(instance: string, engine: Pick<NodeEngine, 'inspect' | 'openExec'>, log: AgentLog): ServeCall {
  return async (_method, params, call) => {
    const { window, command, tty, user, workingDir, ...replica } = agentMethods.exec.parse(params)
    const { id: container } = await replicaContainer(instance, engine, replica)
    if (call.signal.aborted) return { exitCode: null }
    const exec = await engine.openExec(container, { command, tty, user, workingDir })
    const end = () =>
      void endExec(exec, container).catch((error: unknown) => log.warn({ error: String(error) }, 'a command was not ended'))
    if (call.signal.aborted) end()
    else call.signal.addEventListener('abort', end, { once: true })
    const exitCode = await run(exec, call, window)
    call.signal.removeEventListener('abort', end)
    return { exitCode }
  }
}

function run(exec: EngineExec, call: ServedCall, width: number): Promise<number | null> {
  const window = new ChunkWindow(width, call.signal)
  const send = (output: ExecOutput) => call.chunk(output)
  const input = new InputInTurn(exec, send)
  call.onInput((value) => {
    const parsed = execInputSchema.safeParse(value)
    if (!parsed.success) return
    if ('more' in parsed.data) window.more(parsed.data.more)
    else input.take(parsed.data)
  })
  return exec.output(async (stream, bytes) => {
    for (let at = 0; at < bytes.length; at += chunkBytes) {
      const text = bytes.subarray(at, at + chunkBytes).toString('base64')
      await window.take()
      send(stream === 'stdout' ? { stdout: text } : { stderr: text })
    }
  })
}

/**
 * What a client sends reaches its command in the order in which it was sent. A new size is a call of its own to the engine,
 * so what was typed after it waits for it: the command must not read it on a terminal of the old size.
 */
class InputInTurn {
  private turn: Promise<void> = Promise.resolve()

  constructor(
    private readonly exec: EngineExec,
    private readonly send: (output: ExecOutput) => void,
  ) {}

  take(input: Exclude<ExecInput, { more: number }>): void {
    this.turn = this.turn.then(() => this.feed(input))
  }

  private async feed(input: Exclude<ExecInput, { more: number }>): Promise<void> {
    const { stdin } = this.exec
    if ('end' in input) stdin.end()
    // A process that has just ended has no size any more.
    else if ('columns' in input) await this.exec.resize(input.columns, input.rows).catch(() => undefined)
    else if (stdin.writable) {
      const bytes = Buffer.from(input.stdin, 'base64')
      stdin.write(bytes, () => this.send({ taken: bytes.length }))
    }
  }
}

/** The engine cannot end it, so its process is told to hang up and then killed; closing its streams ends what still reads them. */
async function endExec(exec: EngineExec, container: string): Promise<void> {
  const pid = await exec.pid().catch(() => null)
  exec.detach()
  if (pid !== null) await endProcess(pid, container)
}
