import type Docker from 'dockerode'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DockerClient } from './docker-client.js'
import type { EngineFailure } from './engine.js'
import type { EngineExec } from './node-engine.js'

const callMs = 10_000
/** How long a command may take to start, and how often it is looked whether it has. */
const startWithinMs = 60_000
const pollMs = 50
const headerBytes = 8

type OnBytes = (stream: 'stdout' | 'stderr', bytes: Buffer) => void | Promise<void>

/** A command in a container over the engine's connection, which carries input and output both ways. */
export class DockerExec implements EngineExec {
  constructor(
    private readonly client: DockerClient,
    private readonly exec: Docker.Exec,
    private readonly stream: Duplex,
    private readonly tty: boolean,
  ) {
    // A broken connection ends the output, which is where it is told.
    stream.on('error', () => undefined)
  }

  get stdin(): Duplex {
    return this.stream
  }

  async output(onBytes: OnBytes): Promise<number | null> {
    const take = this.tty ? (bytes: Buffer) => onBytes('stdout', bytes) : demultiplexed(onBytes)
    try {
      for await (const chunk of this.stream) await take(chunk as Buffer)
    } catch {
      return null
    }
    return this.exitCode()
  }

  async resize(columns: number, rows: number): Promise<void> {
    await this.client.call('change', callMs, () => this.exec.resize({ w: columns, h: rows }))
  }

  /** The engine hands out the connection before it starts the command, so one that has no process may be about to. */
  async pid(): Promise<number | null> {
    const until = Date.now() + startWithinMs
    for (;;) {
      const { pid, over } = await this.look()
      if (pid !== null || over || Date.now() > until) return pid
      await sleep(pollMs)
    }
  }

  detach(): void {
    this.stream.destroy()
  }

  private async exitCode(): Promise<number | null> {
    return (await this.inspect()).ExitCode
  }

  /** `over`: it has no process and gets none any more. Neither that nor a process: it is being started, or nobody knows now. */
  private async look(): Promise<{ pid: number | null; over: boolean }> {
    try {
      const { Running, Pid, ExitCode } = await this.inspect()
      return { pid: Running && Pid > 0 ? Pid : null, over: ExitCode !== null }
    } catch (error) {
      return { pid: null, over: (error as EngineFailure).reason === 'NotFound' }
    }
  }

  private inspect(): Promise<Docker.ExecInspectInfo> {
    return this.client.call('read', callMs, () => this.exec.inspect())
  }
}

/** Without a terminal both streams come in frames, as in a log; a frame's bytes are told as they come. */
function demultiplexed(onBytes: OnBytes): (chunk: Buffer) => Promise<void> {
  let header = Buffer.alloc(0)
  let left = 0
  let stream: 'stdout' | 'stderr' = 'stdout'
  return async (chunk) => {
    let rest = chunk
    while (rest.length > 0) {
      if (left === 0) {
        const missing = headerBytes - header.length
        header = Buffer.concat([header, rest.subarray(0, missing)])
        rest = rest.subarray(missing)
        if (header.length < headerBytes) return
        stream = header[0] === 2 ? 'stderr' : 'stdout'
        left = header.readUInt32BE(4)
        header = Buffer.alloc(0)
        continue
      }
      const bytes = rest.subarray(0, left)
      rest = rest.subarray(bytes.length)
      left -= bytes.length
      await onBytes(stream, bytes)
    }
  }
}
