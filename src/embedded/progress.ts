import { reasonOf } from './reason.js'
import type { SetupLog } from './setup-log.js'

/** Tells a person what the set-up does, one line a step with its time. */
export class Progress {
  private readonly startedAt = performance.now()

  constructor(private readonly print: (line: string) => void) {}

  /** Runs a step; what it says while it runs is shown below its name. */
  async step<T>(name: string, work: (log: SetupLog) => Promise<T>): Promise<T> {
    const startedAt = performance.now()
    try {
      const result = await work((line) => this.print(`    ${line}`))
      this.print(`  ✓ ${name.padEnd(26)} ${seconds(startedAt)}`)
      return result
    } catch (error) {
      this.print(`  ✗ ${name.padEnd(26)} ${seconds(startedAt)}`)
      throw new StepError(name, error)
    }
  }

  say(line: string): void {
    this.print(line)
  }

  total(): string {
    return seconds(this.startedAt)
  }
}

/** Which step failed, and why. */
export class StepError extends Error {
  constructor(step: string, cause: unknown) {
    super(`${step}: ${reasonOf(cause)}`, { cause })
    this.name = 'StepError'
  }
}

function seconds(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`
}
