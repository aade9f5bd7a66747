import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, openSync, closeSync, renameSync, statSync, readFileSync, fstatSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { lastWords } from './last-words.js'
import { reasonOf } from './reason.js'

/** A log that grew beyond this is set aside at the next start; one old log is kept. */
const LOG_LIMIT_BYTES = 10 * 1024 * 1024

export interface ServiceSpec {
  /** For messages: "PostgreSQL", "Temporal". */
  readonly name: string
  readonly file: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** Everything that the program prints is appended here. */
  readonly logFile: string
  /** Asks it to end. PostgreSQL wants SIGINT (its "fast" shutdown), everything else SIGTERM. */
  readonly stopSignal?: NodeJS.Signals
  readonly stopGraceMs?: number
  /** Gives the child a channel to us, so that it can notice our death. */
  readonly ipc?: boolean
}

/** Why a service ended, in words. */
export type Ending = string

/** A running program that we started and that has to keep running. */
export class Service {
  /** Settles once, when the program has ended, whoever ended it. */
  readonly ended: Promise<Ending>
  private ending: Ending | undefined

  private constructor(
    private readonly spec: ServiceSpec,
    private readonly child: ChildProcess,
    private readonly logStart: number,
  ) {
    this.ended = new Promise((resolve) => {
      const end = (ending: Ending): void => {
        this.ending ??= ending
        resolve(this.ending)
      }
      child.once('error', (error) => end(error.message))
      child.once('exit', (code, signal) => end(signal ? `killed by ${signal}` : `exit code ${code}`))
    })
  }

  static start(spec: ServiceSpec): Service {
    const log = openLog(spec.logFile)
    try {
      const child = spawn(spec.file, [...spec.args], {
        cwd: spec.cwd,
        env: { ...process.env, ...spec.env },
        // A group of its own: Ctrl-C in a terminal is for us, and we end our parts in order.
        detached: true,
        stdio: ['ignore', log.fd, log.fd, ...(spec.ipc ? (['ipc'] as const) : [])],
      })
      return new Service(spec, child, log.size)
    } finally {
      closeSync(log.fd)
    }
  }

  get pid(): number {
    return this.child.pid ?? 0
  }

  get running(): boolean {
    return this.ending === undefined
  }

  /** Repeats `probe` until it succeeds; a program that ends first, or fails too long, is an error that quotes its log. */
  async waitUntil(probe: () => Promise<void>, timeoutMs: number, everyMs = 50): Promise<void> {
    const deadline = Date.now() + timeoutMs
    while (this.running) {
      const refusal = await probe().then(
        () => undefined,
        (error: unknown) => reasonOf(error),
      )
      if (refusal === undefined) return
      if (Date.now() > deadline) throw this.failure(`is not ready after ${timeoutMs / 1000} s (${refusal})`)
      await Promise.race([this.ended, sleep(everyMs)])
    }
    throw this.failure(`ended while it was starting (${this.ending})`)
  }

  /** Asks the program to end, and kills it when its grace is over. Safe to call twice. */
  async stop(): Promise<void> {
    if (!this.running) return
    this.child.kill(this.spec.stopSignal ?? 'SIGTERM')
    const impatience = setTimeout(() => this.child.kill('SIGKILL'), this.spec.stopGraceMs ?? 10_000)
    await this.ended
    clearTimeout(impatience)
  }

  /** What the program printed since this start. */
  output(): string {
    try {
      return readFileSync(this.spec.logFile).subarray(this.logStart).toString('utf8')
    } catch {
      return ''
    }
  }

  private failure(what: string): Error {
    const said = lastWords(this.output())
    return new Error(`${this.spec.name} ${what}${said ? `; it said: ${said}` : ''} (log: ${this.spec.logFile})`)
  }
}

function openLog(file: string): { fd: number; size: number } {
  mkdirSync(dirname(file), { recursive: true })
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0
  if (size > LOG_LIMIT_BYTES) renameSync(file, `${file}.1`)
  const fd = openSync(file, 'a', 0o600)
  return { fd, size: fstatSync(fd).size }
}
