import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { engineFailureReasons } from './adapters/docker/engine.js'
import { applicationReasons } from './reconcile/application/conditions.js'
import { failureReasons } from './reconcile/failure-reasons.js'
import { ingressReasons } from './reconcile/ingress/conditions.js'
import { nginxdemoReasons } from './reconcile/nginxdemo/conditions.js'

const root = resolve(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const operations = read('docs/operations.md')

const sourceText = (folder: string, ending: RegExp) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => ending.test(name) && !name.endsWith('.spec.ts'))
    .map((name) => read(join(folder, name)))
    .join('\n')

const told = (word: string) => operations.includes(`\`${word}\``)

describe('docs/operations.md', () => {
  it('every condition and reason of every kind -> is explained', () => {
    const kinds = [applicationReasons, ingressReasons, nginxdemoReasons]
    const words = kinds.flatMap((reasons) => Object.entries(reasons).flatMap(([type, list]) => [type, ...list]))
    expect([...new Set(words)].filter((word) => !told(word))).toEqual([])
  })

  it('every reason for which a load of a configuration fails -> is explained', () => {
    const text = ['src/agent/ingress.ts', 'src/adapters/caddy/admin-client.ts'].map(read).join('\n')
    const words = [...text.matchAll(/ActionFailure\(\s*'([A-Z]\w+)'/g)].map(([, reason]) => reason ?? '')
    expect(words.length).toBeGreaterThan(3)
    expect([...new Set(words)].filter((word) => !told(word))).toEqual([])
  })

  it('every condition and reason of a node -> is explained', () => {
    const text = [
      'src/agent/canary.ts',
      'src/agent/dns-server.ts',
      'src/agent/housekeeping.ts',
      'src/api/node/node-conditions.ts',
    ]
      .map(read)
      .join('\n')
    const set = [...text.matchAll(/(?:type|reason): (?:this\.displaced \? '(\w+)' : )?'([A-Z]\w+)'/g)].flatMap(([, a, b]) => [
      a,
      b,
    ])
    const derived = [...text.matchAll(/condition\('(\w+)', '\w+', '(\w+)'/g)].flatMap(([, type, reason]) => [type, reason])
    const words = [...new Set([...set, ...derived])].filter((word) => word !== undefined)
    expect(words.length).toBeGreaterThan(15)
    expect(words.filter((word) => !told(word))).toEqual([])
  })

  it('every setting that is read -> stands in the table', () => {
    const text = sourceText('src', /\.ts$/) + sourceText('scripts', /\.mjs$/) + read('docker-compose.yml')
    const names = new Set([...text.matchAll(/EVENKEEL_[A-Z][A-Z_]*[A-Z]/g)].map(([name]) => name))
    // Passed from one of our own processes to another.
    for (const own of ['EVENKEEL_MIGRATION_SCHEMA', 'EVENKEEL_HUNT']) names.delete(own)
    expect([...names].filter((name) => !told(name))).toEqual([])
  })
})

describe('docs/levelrail-behaviours.md', () => {
  const application = (name: string) => `src/reconcile/application/${name}.spec.ts`
  const short: Record<string, string> = { PLAN: application('plan'), STRATEGY: application('strategy'), SPEC: application('spec') }
  const text = read('docs/levelrail-behaviours.md')

  it('every test that it names -> is there, with that title', () => {
    const named = [...text.matchAll(/`([\w./-]+)` › ("[^"]+"(?:, "[^"]+")*)/g)]
    expect(named.length).toBeGreaterThan(50)
    const missing = named.flatMap(([, file = '', titles = '']) => {
      const tests = read(short[file] ?? file)
      return [...titles.matchAll(/"([^"]+)"/g)].map(([, title = '']) => title).filter((title) => !tests.includes(title)).map((title) => `${file} › ${title}`)
    })
    expect(missing).toEqual([])
  })

  it('every file that it names -> is there', () => {
    const files = [...text.matchAll(/`((?:src|test)\/[\w./-]+\.ts)`/g)].map(([, file = '']) => file)
    for (const file of files) expect(read(file)).not.toBe('')
  })
})

describe('failureReasons', () => {
  it('whatever the engine can refuse -> is among them', () => {
    expect(engineFailureReasons.filter((reason) => !failureReasons.some((known) => known === reason))).toEqual([])
  })
})
