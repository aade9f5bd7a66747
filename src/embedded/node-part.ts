import { join } from 'node:path'
import { PidFile } from './processes.js'
import { Service } from './service.js'
import type { Part } from './supervisor.js'

/** Compiled beside this file; from the sources Node reads it as it is. */
const PARENT_WATCH = new URL(import.meta.url.endsWith('.ts') ? './parent-watch.ts' : './parent-watch.js', import.meta.url).href
const START_TIMEOUT_MS = 60_000
/** A probe costs a connection, and time that the starting process could use. */
const PROBE_EVERY_MS = 150

export interface NodePartSpec {
  readonly name: string
  /** The compiled file. */
  readonly entry: string
  readonly args?: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Gets <name>.log and <name>.pid. */
  readonly runDir: string
  /** Before each start: for what would make it fail with an unclear message. */
  readonly before?: () => Promise<void>
  /** Fails until the process is ready for those that are started after it. */
  readonly probe: (pid: number) => Promise<void>
}

/** One of Evenkeel's own processes as a part for the supervisor. */
export function nodePart(spec: NodePartSpec): Part {
  return {
    name: spec.name,
    async start() {
      const pidFile = new PidFile(join(spec.runDir, `${spec.name}.pid`))
      await pidFile.end()
      await spec.before?.()
      const service = Service.start({
        name: spec.name,
        file: process.execPath,
        args: ['--enable-source-maps', '--import', PARENT_WATCH, spec.entry, ...(spec.args ?? [])],
        env: { ...spec.env, NODE_ENV: 'production' }, // libraries leave out their checks for those who develop with them
        logFile: join(spec.runDir, `${spec.name}.log`),
        stopGraceMs: 15_000,
        ipc: true,
      })
      pidFile.write(service.pid)
      const stop = async (): Promise<void> => {
        await service.stop()
        pidFile.remove()
      }
      try {
        await service.waitUntil(() => spec.probe(service.pid), START_TIMEOUT_MS, PROBE_EVERY_MS)
      } catch (error) {
        await stop()
        throw error
      }
      return { pid: service.pid, ended: service.ended, stop }
    },
  }
}
