import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/**
 * graphql ships a CommonJS and an ES build. Vitest loads test files as ES modules and packages as they are, so
 * both would be loaded and refuse each other's schemas ("another module or realm"): everything gets one of them.
 */
const alias = [{ find: /^graphql$/, replacement: fileURLToPath(import.meta.resolve('graphql/index.js')) }]

/** `npm run test:hunt`: live tests that take minutes each, instead of all others. */
const hunting = process.env['EVENKEEL_HUNT'] === '1'

export default defineConfig({
  test: {
    projects: [
      {
        resolve: { alias },
        test: { name: 'unit', include: hunting ? [] : ['src/**/*.spec.ts', 'activities/**/*.spec.ts', 'workflows/**/*.spec.ts'] },
      },
      {
        resolve: { alias },
        test: {
          name: 'integration',
          include: [hunting ? 'test/**/*.hunt.ts' : 'test/**/*.spec.ts'],
          // Real servers and containers on a small machine: one file at a time, each in a process of its own.
          fileParallelism: false,
          pool: 'forks',
          globalSetup: 'test/setup/global-setup.ts',
          // After the unit tests, so that timings are not those of a busy machine.
          sequence: { groupOrder: 1 },
          testTimeout: 60_000,
          // What must become true may take its time on a busy machine; tests are never timed for speed.
          expect: { poll: { timeout: 20_000, interval: 25 } },
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
