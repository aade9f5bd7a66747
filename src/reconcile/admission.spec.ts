import { describe, expect, it } from 'vitest'
import type { Action } from './action.js'
import { admit, admittedActionsMost, admittedBytesMost } from './admission.js'
import { epoch, failureOf, inFlightOf } from './testing/application-world.js'

function action(key: string, change: { container?: string | null; padding?: string } = {}): Action {
  return {
    key,
    verb: 'pullImage',
    args: { image: change.padding ?? 'x' },
    node: 'node_1',
    queue: 'long',
    container: change.container ?? null,
    timeoutSeconds: 1,
    supersedable: true,
    summary: key,
  }
}

type Given = Partial<Parameters<typeof admit>[0]>

function admitted(given: Given) {
  const all = { wanted: [], inFlight: [], failures: new Map(), holds: new Set<string>(), generation: 2, now: epoch, ...given }
  const { start, cancel, retryAfterMs } = admit(all)
  return { start: start.map((a) => a.key), cancel, retryAfterMs }
}

const failures = (...list: ReturnType<typeof failureOf>[]) => new Map(list.map((f) => [f.key, f]))

describe('admit', () => {
  const rows: { it: string; given: Given; start?: string[]; cancel?: string[]; retryAfterMs?: number }[] = [
    { it: 'free keys -> all, in the order that they are wanted', given: { wanted: [action('b'), action('a')] }, start: ['b', 'a'] },
    { it: 'key in flight -> not twice', given: { wanted: [action('a')], inFlight: [inFlightOf('a')] } },
    { it: 'one key twice in a plan -> once', given: { wanted: [action('a'), action('a')] }, start: ['a'] },
    {
      it: 'two keys of one container -> the first',
      given: { wanted: [action('retire', { container: 'c' }), action('ensure', { container: 'c' }), action('other', { container: 'd' })] },
      start: ['retire', 'other'],
    },
    {
      it: 'container busy with another key -> waits',
      given: { wanted: [action('ensure', { container: 'c' })], inFlight: [inFlightOf('retire', { container: 'c' })] },
    },
    {
      it: 'actions without a container -> exclude nothing',
      given: { wanted: [action('pull'), action('resolve')], inFlight: [inFlightOf('publish')] },
      start: ['pull', 'resolve'],
    },
    {
      it: 'failed and its time has not come -> waits for the earliest',
      given: {
        wanted: [action('a'), action('b'), action('c')],
        failures: failures(failureOf('a', { nextTryAt: epoch + 9_000 }), failureOf('b', { nextTryAt: epoch + 4_000 })),
      },
      start: ['c'],
      retryAfterMs: 4_000,
    },
    { it: 'failed and its time has come -> again', given: { wanted: [action('a')], failures: failures(failureOf('a', { nextTryAt: epoch })) }, start: ['a'] },
    { it: 'failed for good -> neither started nor waited for', given: { wanted: [action('a')], failures: failures(failureOf('a', { retryable: false, nextTryAt: epoch })) } },
    {
      it: 'what waits does not occupy its container',
      given: { wanted: [action('a', { container: 'c' }), action('b', { container: 'c' })], failures: failures(failureOf('a')) },
      start: ['b'],
      retryAfterMs: 1_000,
    },
    { it: 'failure of something not wanted -> no wait', given: { wanted: [], failures: failures(failureOf('a')) } },
    { it: 'held -> not started', given: { wanted: [action('a')], holds: new Set(['a']) } },
    { it: 'held while it runs -> cancelled', given: { wanted: [action('a')], inFlight: [inFlightOf('a')], holds: new Set(['a']) }, cancel: ['a'] },
    {
      it: 'older generation, supersedable, unwanted -> cancelled',
      given: { inFlight: [inFlightOf('pull', { supersedable: true, generation: 1 })] },
      cancel: ['pull'],
    },
    {
      it: 'older generation, supersedable, still wanted -> goes on',
      given: { wanted: [action('pull')], inFlight: [inFlightOf('pull', { supersedable: true, generation: 1 })] },
    },
    { it: 'older generation, not supersedable -> goes on', given: { inFlight: [inFlightOf('ensure', { generation: 1 })] } },
    { it: 'same generation, unwanted for now -> goes on', given: { inFlight: [inFlightOf('pull', { supersedable: true, generation: 2 })] } },
  ]
  it.each(rows)('$it', ({ given, start, cancel, retryAfterMs }) => {
    expect(admitted(given)).toEqual({ start: start ?? [], cancel: cancel ?? [], retryAfterMs: retryAfterMs ?? null })
  })

  it(`more than ${admittedActionsMost} wanted -> the first ${admittedActionsMost}`, () => {
    const wanted = Array.from({ length: 40 }, (_, i) => action(`k${i}`))
    expect(admitted({ wanted }).start).toEqual(wanted.slice(0, admittedActionsMost).map((a) => a.key))
  })

  it.each([
    { it: 'plain text', padding: 'x'.repeat(10_000) },
    { it: 'text of three bytes a character', padding: '€'.repeat(3_500) },
    { it: 'quotes, escaped twice on the wire', padding: '"'.repeat(2_600) },
  ])('big actions of $it -> together below the byte limit', ({ padding }) => {
    const wanted = Array.from({ length: 9 }, (_, i) => action(`k${i}`, { padding }))
    const { start } = admitted({ wanted })
    const bytes = wanted.slice(0, start.length).reduce((sum, a) => sum + Buffer.byteLength(JSON.stringify(JSON.stringify(a))), 0)
    expect(start).toHaveLength(4)
    expect(bytes).toBeLessThanOrEqual(admittedBytesMost)
  })

  it('one action bigger than the limit -> started alone, for it would wait for ever', () => {
    const wanted = [action('huge', { padding: 'x'.repeat(admittedBytesMost + 1) }), action('next')]
    expect(admitted({ wanted }).start).toEqual(['huge'])
  })
})
