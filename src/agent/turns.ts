/** Lets so many rounds run side by side; more wait for their turn, first come first served. */
export class Turns {
  private running = 0
  private readonly waiting: (() => Promise<void>)[] = []

  constructor(private readonly most: number) {}

  /** `round` never fails. */
  take(round: () => Promise<void>): void {
    if (this.running >= this.most) this.waiting.push(round)
    else void this.run(round)
  }

  private async run(round: () => Promise<void>): Promise<void> {
    this.running++
    await round()
    this.running--
    const next = this.waiting.shift()
    if (next) void this.run(next)
  }
}
