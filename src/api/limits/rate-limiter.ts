interface Bucket {
  tokens: number
  filledAt: number
}

/** With more callers than this the one that was silent longest is forgotten: its bucket is the likeliest to be full again. */
const bucketsMost = 10_000

/** A token bucket for each caller, in the memory of this process. */
export class RateLimiter {
  /** The one that asked last stands last. */
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
    this.buckets.delete(caller)
    this.makeRoom()
    this.buckets.set(caller, bucket)
    if (bucket.tokens < 1) return false
    bucket.tokens -= 1
    return true
  }

  private makeRoom(): void {
    const [silent] = this.buckets.keys()
    if (this.buckets.size >= bucketsMost && silent !== undefined) this.buckets.delete(silent)
  }
}
