/** How many chunks may be sent before their reader has read: a writer waits, so that nothing piles up for a slow one. */
export class ChunkWindow {
  private waiting: (() => void)[] = []

  constructor(
    private left: number,
    signal: AbortSignal,
  ) {
    signal.addEventListener('abort', () => this.more(Number.MAX_SAFE_INTEGER), { once: true })
  }

  /** Takes one; a promise when none is left. */
  take(): void | Promise<void> {
    if (this.left-- > 0) return
    return new Promise((resolve) => this.waiting.push(resolve))
  }

  more(count: number): void {
    this.left += count
    const free = this.left >= 0 ? this.waiting.length : Math.max(0, this.waiting.length + this.left)
    for (const resolve of this.waiting.splice(0, free)) resolve()
  }
}
