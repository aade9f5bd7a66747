import type { Clock } from './ports.js'

/** An event may reach us some time after the action that caused it has answered. */
const rememberMs = 10_000

interface Span {
  container: string
  from: number
  /** null while the action runs. */
  to: number | null
}

/**
 * Which containers the agent's own actions are changing, or were a moment ago. What happens to a container within such
 * a span is seen by the pass that follows the action, so it needs no nudge of its own.
 */
export class OwnEffects {
  private spans: Span[] = []

  constructor(private readonly clock: Pick<Clock, 'now'>) {}

  /** Returns the function that ends the span. */
  begin(container: string): () => void {
    const span: Span = { container, from: this.clock.now(), to: null }
    this.spans.push(span)
    return () => {
      span.to = this.clock.now()
      const oldest = span.to - rememberMs
      this.spans = this.spans.filter((s) => s.to === null || s.to > oldest)
    }
  }

  /** True when the end of an action on the container, and so the pass that follows it, is later than `at`. */
  endsAfter(container: string, at: number): boolean {
    return this.spans.some((s) => s.container === container && (s.to === null || s.to > at))
  }

  /** `at`: when it happened, in milliseconds by the node's clock. */
  covers(container: string, at: number): boolean {
    return this.spans.some((s) => s.container === container && s.from <= at && (s.to === null || at <= s.to))
  }
}
