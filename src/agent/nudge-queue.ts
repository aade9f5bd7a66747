import type { ResourceRef } from './ports.js'

/** A container's restart or removal comes as several events; together they are one nudge. */
const debounceMs = 50

export type SendNudges = (resources: ResourceRef[], why: string) => void

/** Collects nudges for a moment, so that ten events of one resource cost one pass. */
export class NudgeQueue {
  private readonly pending = new Map<string, { resource: ResourceRef; why: string }>()
  private timer: NodeJS.Timeout | null = null
  private held = false
  private sentAt = -Infinity

  constructor(private readonly send: SendNudges) {}

  /** Nothing is told for `ms`: a new agent finds everything at once, and first probes follow within moments. */
  hold(ms: number): void {
    this.held = true
    if (this.timer) clearTimeout(this.timer)
    this.timer = setTimeout(() => this.flush(), ms)
  }

  /** `urgent`: something is missing that may have served, so it waits only when something was told a moment ago. */
  nudge(resource: ResourceRef, why: string, urgent = false): void {
    if (resource.resource === '') return
    this.pending.set(`${resource.kind}:${resource.resource}`, { resource, why })
    if (urgent && !this.held && performance.now() - this.sentAt >= debounceMs) this.flush()
    else this.timer ??= setTimeout(() => this.flush(), debounceMs)
  }

  flush(): void {
    if (this.timer) clearTimeout(this.timer)
    this.timer = null
    this.held = false
    this.sentAt = performance.now()
    const byWhy = new Map<string, ResourceRef[]>()
    for (const { resource, why } of this.pending.values()) byWhy.set(why, [...(byWhy.get(why) ?? []), resource])
    this.pending.clear()
    for (const [why, resources] of byWhy) this.send(resources, why)
  }
}
