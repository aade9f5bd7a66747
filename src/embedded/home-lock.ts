import { createHash } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { holdName } from '../hold-name.js'
import type { Home } from './home.js'
import { PidFile } from './processes.js'

/** Whose a state directory is: of one process at a time, which supervises what runs for it, or works on its files. */
export class HomeLock {
  /** Tells who it is; that it is only one is not for a file to say. */
  private readonly file: PidFile
  private letGo: (() => Promise<void>) | null = null

  constructor(private readonly home: Home) {
    this.file = new PidFile(join(home.runDir, 'supervisor.pid'))
  }

  /** The process that supervises this state directory. */
  running(): number | undefined {
    return this.file.running()
  }

  /** For whoever does not get it while nobody supervises it. */
  get heldBriefly(): string {
    return `another process works on ${this.home.path} at this moment (it starts Evenkeel, backs it up or restores it)`
  }

  /** Takes it for this process, as its supervisor; false when another one has it. */
  async claim(): Promise<boolean> {
    if (!(await this.hold())) return false
    this.file.write(process.pid)
    return true
  }

  /** Takes it for a while, without running anything for it; false when another one has it. */
  async hold(): Promise<boolean> {
    const letGo = await holdName(`evenkeel-home-${createHash('sha256').update(realPath(this.home.path)).digest('hex')}`)
    // Who sees the directory from another network namespace does not see the name.
    if (letGo && this.running() !== undefined) await letGo()
    else this.letGo = letGo
    return this.letGo !== null
  }

  async release(): Promise<void> {
    if (this.letGo && this.running() === process.pid) this.file.remove()
    await this.letGo?.()
    this.letGo = null
  }

  /** Ends the process that supervises it, if one does. */
  end(signal: NodeJS.Signals, graceMs: number): Promise<void> {
    return this.file.end(signal, graceMs)
  }
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return resolve(path)
  }
}
