import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { Supervisor, type Part, type RunningPart } from './supervisor.js'

/** A part without a process: `die` ends the running one, `failures` makes the next starts fail. */
class FakePart implements Part {
  starts = 0
  failures = 0
  stops: string[]
  private end: ((ending: string) => void) | undefined

  constructor(
    readonly name: string,
    stops: string[] = [],
  ) {
    this.stops = stops
  }

  start(): Promise<RunningPart> {
    this.starts++
    if (this.failures-- > 0) return Promise.reject(new Error('not yet'))
    const ended = new Promise<string>((resolve) => (this.end = resolve))
    const stop = (): Promise<void> => {
      this.stops.push(this.name)
      this.end?.('stopped')
      return Promise.resolve()
    }
    return Promise.resolve({ pid: this.starts, ended, stop })
  }

  die(): void {
    this.end?.('killed by SIGKILL')
  }
}

const until = async (condition: () => boolean): Promise<void> => {
  const deadline = Date.now() + 5_000
  while (!condition()) {
    if (Date.now() > deadline) throw new Error('did not happen')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

describe('Supervisor', () => {
  it('first start fails -> an error, not a second try', async () => {
    const supervisor = new Supervisor(() => {})
    const part = new FakePart('api')
    part.failures = 1
    await expect(supervisor.start(part)).rejects.toThrow('not yet')
    expect(part.starts).toBe(1)
    await supervisor.stop()
  })

  it('a part dies -> it alone is started again, also when the first tries fail', async () => {
    const said: string[] = []
    const supervisor = new Supervisor((line) => said.push(line))
    const [database, api] = [new FakePart('database'), new FakePart('api')]
    await supervisor.start(database)
    await supervisor.start(api)
    api.failures = 1
    api.die()
    await until(() => said.includes('api runs again'))
    expect([database.starts, api.starts]).toEqual([1, 3])
    expect(said).toEqual(['api ended (killed by SIGKILL), starting it again', 'api does not start: not yet', 'api runs again'])
    await supervisor.stop()
  })

  it('stop -> in reverse order, and nothing is started again', async () => {
    const stops: string[] = []
    const supervisor = new Supervisor(() => {})
    const parts = ['database', 'api', 'worker'].map((name) => new FakePart(name, stops))
    for (const part of parts) await supervisor.start(part)
    await supervisor.stop()
    expect(stops).toEqual(['worker', 'api', 'database'])
    expect(parts.map((part) => part.starts)).toEqual([1, 1, 1])
  })

  it('stop during the first start of a part -> it is ended when it has started', async () => {
    const stops: string[] = []
    const supervisor = new Supervisor(() => {})
    const part = new FakePart('api', stops)
    const slow: Part = { name: 'api', start: () => new Promise((resolve) => setTimeout(() => resolve(part.start()), 50)) }
    const started = supervisor.start(slow)
    await supervisor.stop()
    await started
    expect(stops).toEqual(['api'])
  })

  it('stop during a pause between two tries -> does not wait for its end, and no further try', async () => {
    const supervisor = new Supervisor(() => {})
    const part = new FakePart('api')
    await supervisor.start(part)
    part.failures = 1_000
    part.die()
    await until(() => part.starts === 3)
    // The pause after this try is 0.8 s, and timers of one process end in their order, however late.
    expect(await Promise.race([supervisor.stop().then(() => 'stopped'), sleep(700).then(() => 'it waited')])).toBe('stopped')
    expect(part.starts).toBe(3)
    await sleep(1_000)
    expect(part.starts).toBe(3)
  })
})
