import { parseArgs } from 'node:util'
import { Platform } from './platform.js'
import { api } from './scenarios/api.js'
import { burst } from './scenarios/burst.js'
import { converge } from './scenarios/converge.js'
import { drift } from './scenarios/drift.js'
import { idle } from './scenarios/idle.js'
import { logs } from './scenarios/logs.js'
import { proxy } from './scenarios/proxy.js'
import { rollout } from './scenarios/rollout.js'
import { routes } from './scenarios/routes.js'
import { scale } from './scenarios/scale.js'

/**
 * `npm run bench [-- SCENARIO] [--json]`: measures a running `npm run up`, each figure beside the bare Docker Engine API in the
 * same run. Machines are noisy: read ratios and medians. With --json the last line is one JSON object.
 */
const scenarios = { converge, drift, burst, logs, idle, scale, api, routes, proxy, rollout }
type Name = keyof typeof scenarios

const { values, positionals } = parseArgs({ allowPositionals: true, options: { json: { type: 'boolean', default: false } } })
const names = positionals.length > 0 ? positionals : Object.keys(scenarios)
const unknown = names.filter((name) => !(name in scenarios))
if (unknown.length > 0) {
  console.error(`unknown scenario ${unknown.join(', ')}; there are: ${Object.keys(scenarios).join(', ')}`)
  process.exit(2)
}

const platform = new Platform()
const results: Record<string, unknown> = {}
for (const name of names as Name[]) {
  try {
    results[name] = await scenarios[name](platform)
  } finally {
    await platform.cleanUp()
  }
  console.log(table(name, results[name] as Record<string, unknown>))
}
if (values.json) console.log(JSON.stringify(names.length === 1 ? results[names[0] as Name] : results))
process.exit(0)

function table(name: string, figures: Record<string, unknown>): string {
  const lines = Object.entries(figures).map(
    ([key, value]) => `  ${key.padEnd(28)} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`,
  )
  return [`${name}`, ...lines].join('\n')
}
