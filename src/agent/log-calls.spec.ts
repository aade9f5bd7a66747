import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { LogLine } from '../adapters/docker/engine.js'
import { label } from '../reconcile/labels.js'
import { normalTime, serveLogs } from './log-calls.js'
import type { LogChunk } from './protocol.js'

const at = '2026-01-01T00:00:00.000000000Z'
const line = (text: string): LogLine => ({ stream: 'stdout', at, text })

/** An engine whose one container writes `batches`, each when the one before was taken, and ends `lastsMs` later. */
function serve(batches: LogLine[][], window: number, { instance = 'e1', lastsMs = 0 } = {}) {
  let read = 0
  let input: (value: unknown) => void = () => undefined
  const chunks: LogChunk[] = []
  const stop = new AbortController()
  const engine = {
    inspect: async () => ({ id: 'c', labels: { [label.instance]: 'e1', [label.resource]: 'app_a' } }) as never,
    logBatches: async (_id: string, _o: unknown, onLines: (lines: LogLine[]) => unknown) => {
      for (const batch of batches) {
        if (stop.signal.aborted) return
        await onLines(batch)
        read++
      }
      if (lastsMs > 0) await sleep(lastsMs)
    },
  }
  const params = { resource: 'app_a', release: 1, replica: 0, follow: true, tail: null, since: null, streams: ['stdout'], window }
  const done = serveLogs(instance, engine)('logs', params, {
    chunk: (value) => void chunks.push(value as LogChunk),
    onInput: (listener) => (input = listener),
    signal: stop.signal,
  })
  return { chunks, done, stop, more: (more: number) => input({ more }), read: () => read }
}

describe('serveLogs', () => {
  it('many lines -> chunks of at most 256 lines and 64 KB, all lines in their order', async () => {
    const lines = Array.from({ length: 1_000 }, (_, n) => line(`${n}`))
    const long = [line('x'.repeat(60_000)), line('y'.repeat(60_000)), line('z')]
    const { chunks, done } = serve([lines, long], 100)
    await done
    expect(Math.max(...chunks.map((c) => c.length))).toBe(256)
    expect(chunks.flat().map(([, , text]) => text)).toEqual([...lines, ...long].map((l) => l.text))
    expect(chunks.every((c) => c.length === 1 || c.reduce((sum, [, , text]) => sum + text.length, 0) < 130_000)).toBe(true)
  })

  it('few lines -> told without waiting for more', async () => {
    const { chunks, stop, done } = serve([[line('a')], [line('b')]], 100)
    await done
    expect(chunks.flat().length).toBe(2)
    stop.abort()
  })

  it('a reader that does not read -> the engine is read no further, until there is room', async () => {
    const batch = Array.from({ length: 256 }, () => line('x'))
    const { chunks, done, more, read } = serve(
      Array.from({ length: 50 }, () => batch),
      4,
    )
    await sleep(100)
    expect(chunks.length).toBe(4)
    expect(read()).toBeLessThan(6)
    more(46)
    await done
    expect(chunks.length).toBe(50)
  })

  it('it ends while its last lines wait for room -> they come before the end', async () => {
    const { chunks, done, more } = serve([Array.from({ length: 256 }, () => line('x')), [line('last words')]], 1, { lastsMs: 60 })
    let ended = false
    void done.then(() => (ended = true))
    await sleep(120)
    expect([chunks.length, ended]).toEqual([1, false])
    more(1)
    await done
    expect(chunks[1]?.map(([, , text]) => text)).toEqual(['last words'])
  })

  it('few lines at a time for a reader that does not read -> nothing piles up either', async () => {
    const batches = Array.from({ length: 50 }, () => [line('x')])
    const { read, stop } = serve(
      batches.map((b) => [...b, line('y'.repeat(70_000))]),
      2,
    )
    await sleep(200)
    expect(read()).toBeLessThan(5)
    stop.abort()
  })

  it('a container of another instance -> refused', async () => {
    await expect(serve([], 1, { instance: 'e2' }).done).rejects.toMatchObject({ reason: 'NotFound' })
  })
})

describe('normalTime', () => {
  it.each([
    [at, at],
    ['2026-01-01T00:00:00Z', at],
    ['2026-01-01T01:00:00.25+01:00', '2026-01-01T00:00:00.250000000Z'],
    ['', ''],
    ['no time', 'no time'],
  ])('%s -> %s', (given, normal) => expect(normalTime(given)).toBe(normal))
})
