import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nasty } from '../testing/any-domain.js'
import { anySettings, anyTargets } from '../testing/any-ingress.js'
import { domainKey } from './domain.js'
import { renderCaddyConfig } from './render.js'
import { literally } from './routes.js'

/** The placeholders that Caddy's replacer would look up, and what it leaves if it knows none of them. */
function replacer(text: string): { placeholders: string[]; rest: string } {
  const placeholders: string[] = []
  let rest = ''
  let written = 0
  scan: for (let i = 0; i < text.length; i++) {
    if (i > 0 && text[i - 1] === '\\' && (text[i] === '{' || text[i] === '}')) {
      rest += text.slice(written, i - 1)
      written = i
      continue
    }
    if (text[i] !== '{') continue
    let end = text.indexOf('}', i)
    if (end < 0) continue
    while (end < text.length - 1 && text[end - 1] === '\\') {
      end = text.indexOf('}', end + 1)
      if (end < 0) continue scan
    }
    placeholders.push(text.slice(i + 1, end))
    i = end
  }
  return { placeholders, rest: rest + text.slice(written) }
}

const ours = [/^file\.\/endpoints\/[A-Za-z0-9_-]+\.\d+$/, /^http\.request\.(uri|host)$/, /^http\.error\.message$/]

function texts(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (value === null || typeof value !== 'object') return []
  return Object.entries(value).flatMap(([key, inner]) => [key, ...texts(inner)])
}

const everything = fc.record({
  settings: anySettings,
  targets: anyTargets,
  refused: fc.subarray(['a.a.test/', '*.a.test/', 'b.b.example.com/']),
})
const refusals = (keys: string[]) => new Map(keys.map((key) => [key, 'no']))

describe('renderCaddyConfig, for any domains', () => {
  it('every domain -> served or left out, once', () => {
    fc.assert(
      fc.property(everything, ({ settings, targets, refused }) => {
        const { config, leftOut } = renderCaddyConfig(settings, targets, refusals(refused))
        const routes = (server: string) =>
          (
            config as {
              apps: { http: { servers: Record<string, { routes: { match?: { host?: string[]; path?: string[] }[] }[] }> } }
            }
          ).apps.http.servers[server]!.routes
        const matched = [...routes('http'), ...routes('https')].flatMap((r) => r.match ?? []).filter((m) => m.host)
        const served = new Set(matched.map((m) => domainKey({ host: m.host![0]!, path: m.path?.[0] })))
        expect(served.size + leftOut.length).toBe(targets.flatMap((t) => t.domains).length)
      }),
    )
  })

  it('configuration -> plain data, with no placeholders but our own', () => {
    fc.assert(
      fc.property(everything, ({ settings, targets, refused }) => {
        const { config } = renderCaddyConfig(settings, targets, refusals(refused))
        expect(JSON.parse(JSON.stringify(config))).toEqual(config)
        const foreign = texts(config)
          .flatMap((text) => replacer(text).placeholders)
          .filter((name) => !ours.some((pattern) => pattern.test(name)))
        expect(foreign).toEqual([])
      }),
    )
  })

  it('another order of targets and of domains that are each there once -> the same', () => {
    const shuffled = everything.chain((world) =>
      fc.record({
        world: fc.constant(world),
        targets: fc.shuffledSubarray(world.targets, { minLength: world.targets.length }),
        turned: fc.boolean(),
      }),
    )
    fc.assert(
      fc.property(shuffled, ({ world, targets, turned }) => {
        const first = renderCaddyConfig(world.settings, world.targets, refusals(world.refused))
        const unique = targets.every((t) => new Set(t.domains.map(domainKey)).size === t.domains.length)
        const again = turned && unique ? targets.map((t) => ({ ...t, domains: t.domains.toReversed() })) : targets
        expect(JSON.stringify(renderCaddyConfig(world.settings, again, refusals(world.refused)))).toBe(JSON.stringify(first))
      }),
    )
  })
})

describe('literally', () => {
  it('any text -> itself again after Caddy has looked for placeholders', () => {
    fc.assert(
      fc.property(fc.oneof(nasty, fc.string({ unit: fc.constantFrom('{', '}', '\\', 'a') })), (text) => {
        expect(replacer(literally(text))).toEqual({ placeholders: [], rest: text })
      }),
      { numRuns: 1_000 },
    )
  })
})
