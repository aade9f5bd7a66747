/** The only source of chance in a simulation: equal seeds give equal worlds. */
export class Random {
  private state: number

  constructor(seed: number) {
    this.state = seed >>> 0
  }

  /** In [0, 1). Mulberry32: small, fast, and good enough to choose faults. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0
    let t = this.state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }

  /** In [from, to). */
  between(from: number, to: number): number {
    return from + this.next() * (to - from)
  }

  /** A whole number in [from, to]. */
  whole(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1))
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(from: readonly T[]): T {
    const chosen = from[Math.floor(this.next() * from.length)]
    if (chosen === undefined) throw new Error('there is nothing to pick from')
    return chosen
  }

  /** A source of its own, so that one part's draws do not shift another's. */
  fork(): Random {
    return new Random(Math.floor(this.next() * 4_294_967_296))
  }
}
