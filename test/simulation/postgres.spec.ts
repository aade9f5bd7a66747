import { expect, describe, it } from 'vitest'
import { openPostgresStore } from '../contract/postgres-store.js'
import { runSeed } from './scenario.js'

describe('a simulated world on PostgreSQL', () => {
  it.each([1, 2, 3, 4, 5])(
    'seed %i -> no invariant breaks, and it converges and is quiet',
    { timeout: 120_000 },
    async (seed) => {
      const { store, close } = await openPostgresStore()
      try {
        const { failure, trace } = await runSeed(seed, { store })
        if (failure !== null) expect.fail([`seed ${seed} on PostgreSQL: ${failure}`, ...trace.slice(-60)].join('\n'))
      } finally {
        await close()
      }
    },
  )
})
