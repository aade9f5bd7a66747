import { runSeed, type SeedResult } from './scenario.js'

/** `npm run test:simulation -- --seeds N [--first S]`, or `-- --seed S --verbose` for one with all that happened. */
const number = (name: string, fallback: number): number => {
  const at = process.argv.indexOf(`--${name}`)
  return at === -1 ? fallback : Number(process.argv[at + 1])
}
const verbose = process.argv.includes('--verbose')
const one = number('seed', Number.NaN)
const first = Number.isNaN(one) ? number('first', 1) : one
const seeds = Number.isNaN(one) ? number('seeds', 300) : 1

const beganAt = performance.now()
const failed: SeedResult[] = []
let passes = 0
let virtualSeconds = 0
let requests = 0
let lost = 0
for (let seed = first; seed < first + seeds; seed++) {
  const result = await runSeed(seed, { verbose })
  passes += result.passes
  virtualSeconds += result.virtualSeconds
  requests += result.requests
  lost += result.lost
  if (result.failure === null) continue
  failed.push(result)
  console.log(`seed ${seed}: ${result.failure}`)
  if (!verbose && failed.length === 1) console.log(result.trace.slice(-60).join('\n'))
  console.log(`  again: npm run test:simulation -- --seed ${seed} --verbose`)
}
const seconds = (performance.now() - beganAt) / 1000
console.log(
  `${seeds - failed.length} of ${seeds} seeds passed in ${seconds.toFixed(1)} s (${((seconds / seeds) * 1000).toFixed(0)} ms each; ${passes} passes, ${(virtualSeconds / 3600).toFixed(1)} simulated hours; ${requests} requests, ${lost} unanswered)`,
)
if (failed.length > 0) process.exitCode = 1
