/** Newest samples that are kept; the clock may be set right at any time. */
const samplesKept = 8

/** How far the control plane's clock is ahead of this node's, measured by the heartbeat's way there and back. */
export class ClockOffset {
  private samples: { offsetMs: number; roundTripMs: number }[] = []

  /** `sentAt`, `receivedAt`: our clock. `theirs`: the control plane's, somewhere between the two. */
  measure(sentAt: number, receivedAt: number, theirs: number): void {
    const roundTripMs = receivedAt - sentAt
    if (roundTripMs < 0) return
    this.samples = [...this.samples, { offsetMs: theirs - (sentAt + receivedAt) / 2, roundTripMs }].slice(-samplesKept)
  }

  /** By the sample with the shortest way, whose error is smallest; null before the first. */
  get ms(): number | null {
    const [best] = [...this.samples].sort((a, b) => a.roundTripMs - b.roundTripMs)
    return best ? Math.round(best.offsetMs) : null
  }
}
