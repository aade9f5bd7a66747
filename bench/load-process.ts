import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface, type Interface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { LoadWindow } from './load.main.js'

/** Constant load from a process of its own: one within the bench would stand still whenever the bench is busy. */
export class LoadProcess {
  private readonly child: ChildProcess
  private readonly lines: Interface

  constructor(port: number, host: string, rate: number) {
    const file = fileURLToPath(new URL('./load.main.js', import.meta.url))
    this.child = spawn(process.execPath, [file, String(port), host, String(rate)], { stdio: ['pipe', 'pipe', 'inherit'] })
    this.lines = createInterface({ input: this.child.stdout as NodeJS.ReadableStream })
  }

  /** What happened since the last call. */
  async window(): Promise<LoadWindow> {
    const line = once(this.lines, 'line') as Promise<[string]>
    this.child.stdin?.write('next\n')
    return JSON.parse((await line)[0]) as LoadWindow
  }

  async stop(): Promise<void> {
    const ended = once(this.child, 'exit')
    this.child.stdin?.end()
    await ended
  }
}
