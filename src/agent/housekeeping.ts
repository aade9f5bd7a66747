import { join } from 'node:path'
import { z } from 'zod'
import type { NodeEngine } from '../adapters/docker/node-engine.js'
import { ActionFailure } from './action-failure.js'
import { diskUse, type DiskUse } from './disk.js'
import type { AgentLog } from './log.js'
import type { NodeConditions } from './node-conditions.js'
import type { Clock, PullPolicy } from './ports.js'
import { readFileIfThere, writeFileAtomically } from './state-file.js'

/** From here on nothing is pulled, and until it is clearly below again: a level at the edge must not flap. */
const pressureFrom = 0.85
const pressureUntil = 0.8
/** A pulled image whose container comes in a later pass is in nobody's list yet. */
const youngMs = 10 * 60_000

const recordSchema = z.array(z.object({ reference: z.string(), imageId: z.string(), at: z.number() }))
type PulledImage = z.infer<typeof recordSchema>[number]

export interface HousekeepingOptions {
  stateDir: string
  engine: Pick<NodeEngine, 'imagesInUse' | 'removeImage' | 'imageId' | 'rootDir'>
  clock: Pick<Clock, 'now'>
  conditions: NodeConditions
  log: AgentLog
  diskUse?: (path: string) => Promise<DiskUse>
}

/**
 * Keeps the node's disk from filling. Only images that Evenkeel itself pulled are ever removed, and only when neither
 * the control plane wants them kept (desired state and rollback) nor any container on this engine uses them.
 */
export class Housekeeping implements PullPolicy {
  private images: PulledImage[]
  private pressure = false
  /** null until the control plane has told: before that nothing may go. */
  private keep: string[] | null = null
  private rootDir: string | null = null
  lastUse: DiskUse | null = null

  constructor(private readonly options: HousekeepingOptions) {
    this.images = readRecord(this.file())
  }

  setKeepImages(references: string[]): void {
    this.keep = references
  }

  admit(): void {
    if (!this.pressure) return
    const percent = Math.round((this.lastUse?.used ?? 1) * 100)
    throw new ActionFailure(
      'DiskFull',
      `the node's disk is ${percent} % full; nothing is pulled before it is below ${pressureUntil * 100} %`,
      true,
    )
  }

  pulled(reference: string, imageId: string): void {
    const others = this.images.filter((i) => i.reference !== reference)
    this.images = [...others, { reference, imageId, at: this.options.clock.now() }]
    writeFileAtomically(this.file(), JSON.stringify(this.images))
  }

  /** Measures the disk and tells DiskPressure. */
  async measure(): Promise<void> {
    this.rootDir ??= await this.options.engine.rootDir()
    this.lastUse = await (this.options.diskUse ?? diskUse)(this.rootDir)
    const { used } = this.lastUse
    this.pressure = used >= pressureFrom || (this.pressure && used >= pressureUntil)
    const message = `the disk with ${this.rootDir} is ${Math.round(used * 100)} % full`
    this.options.conditions.set(
      this.pressure
        ? { type: 'DiskPressure', status: 'True', reason: 'DiskNearlyFull', message }
        : { type: 'DiskPressure', status: 'False', reason: 'EnoughDisk', message },
    )
  }

  /** Removes what nobody needs any more; tells what it removed. */
  async collect(): Promise<string[]> {
    const { engine, clock, log } = this.options
    if (this.keep === null) return []
    const kept = new Set(this.keep)
    for (const reference of this.keep) kept.add((await engine.imageId(reference)) ?? reference)
    const inUse = await engine.imagesInUse()
    const old = this.images.filter((i) => clock.now() - i.at > youngMs)
    const unneeded = old.filter((i) => !kept.has(i.reference) && !kept.has(i.imageId) && !inUse.has(i.imageId))
    for (const { reference } of unneeded) await engine.removeImage(reference)
    if (unneeded.length === 0) return []
    this.images = this.images.filter((i) => !unneeded.includes(i))
    writeFileAtomically(this.file(), JSON.stringify(this.images))
    const removed = unneeded.map((i) => i.reference)
    log.info({ removed }, 'images that nothing needs any more were removed')
    return removed
  }

  private file(): string {
    return join(this.options.stateDir, 'pulled-images.json')
  }
}

function readRecord(path: string): PulledImage[] {
  try {
    return recordSchema.parse(JSON.parse(readFileIfThere(path) ?? '[]'))
  } catch {
    // Without the record nothing is removed: an image too many is better than one too few.
    return []
  }
}
