import { describe, expect, it } from 'vitest'
import { runSeed } from './scenario.js'

const seeds = 300
const perTest = 50

async function passes(seed: number): Promise<void> {
  const { failure, trace } = await runSeed(seed)
  if (failure === null) return
  expect.fail(
    [
      `seed ${seed}: ${failure}`,
      `run it again: npm run test:simulation -- --seed ${seed} --verbose`,
      'what happened last:',
      ...trace.slice(-60),
    ].join('\n'),
  )
}

describe('a simulated world', () => {
  for (let first = 1; first <= seeds; first += perTest)
    it(
      `seeds ${first} to ${first + perTest - 1} -> no invariant breaks, and it converges and is quiet`,
      { timeout: 240_000 },
      async () => {
        for (let seed = first; seed < first + perTest; seed++) await passes(seed)
      },
    )

  it('one seed twice -> the same world, event by event', async () => {
    const [one, two] = [await runSeed(7), await runSeed(7)]
    expect(one.trace).toEqual(two.trace)
    expect(one.events).toBe(two.events)
  })
})
