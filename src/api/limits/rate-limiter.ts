interface Bucket {
  tokens: number
  filledAt: number
}

/** Callers whose bucket is full again are forgotten when there are more than this. */
const bucketsMost = 10_000

/** A token bucket for each caller, in the memory of this process. */
export class RateLimiter {
  private readonly buckets = new Map<string, Bucket>()

  constructor(
    private readonly perSecond: number,
    private readonly burst: number,
    private readonly clock: () => number,
  ) {}

  /** Takes one from the caller's bucket; false when it is empty. */
  take(caller: string): boolean {
    const now = this.clock()
    const bucket = this.buckets.get(caller) ?? { tokens: this.burst, filledAt: now }
    bucket.tokens = Math.min(this.burst, bucket.tokens + (Math.max(0, now - bucket.filledAt) * this.perSecond) / 1_000)
    bucket.filledAt = now
    if (!this.buckets.has(caller)) this.makeRoom(now)
    this.buckets.set(caller, bucket)
    if (bucket.tokens < 1) return false
    bucket.tokens -= 1
    return true
  }

  private makeRoom(now: number): void {
    if (this.buckets.size < bucketsMost) return
    const fullAfterMs = (this.burst / this.perSecond) * 1_000
    for (const [caller, bucket] of this.buckets) {
      if (now - bucket.filledAt >= fullAfterMs) this.buckets.delete(caller)
    }
    // Many strangers at once: the oldest goes, so that memory stays bounded.
    const [oldest] = this.buckets.keys()
    if (this.buckets.size >= bucketsMost && oldest !== undefined) this.buckets.delete(oldest)
  }
}
