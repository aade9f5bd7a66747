import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { toEngineEvent } from './event-stream.js'
import { readLogLines } from './log-stream.js'
import type { LogLine } from './engine.js'
import { readProgress } from './pull-stream.js'

const signal = new AbortController().signal
const chunks = (...parts: (string | Buffer)[]) => Readable.from(parts.map((p) => Buffer.from(p)))

describe('readProgress', () => {
  it('an error in the stream -> failure, though the answer began with 200', async () => {
    const stream = chunks(
      '{"status":"Pulling"}\r\n{"errorDetail":{"message":"manifest',
      ' unknown"},"error":"manifest unknown"}\r\n',
    )
    await expect(readProgress(stream, signal)).rejects.toThrow('manifest unknown')
  })

  it('an end after progress -> success', async () => {
    await expect(readProgress(chunks('{"status":"Pull complete"}\r\n'), signal)).resolves.toBeUndefined()
  })

  it('a stream that breaks off -> failure', async () => {
    const stream = new Readable({ read() {} })
    stream.push('{"status":"Downloading"}\r\n')
    setImmediate(() => stream.destroy())
    await expect(readProgress(stream, signal)).rejects.toThrow(/premature/i)
  })
})

describe('toEngineEvent', () => {
  it('nanoseconds beyond a JavaScript number -> every digit kept', () => {
    const line =
      '{"Type":"container","Action":"die","Actor":{"ID":"abc","Attributes":{"name":"c","evenkeel.kind":"application"}},"time":1795969047,"timeNano":1795969047971123457}'
    expect(toEngineEvent(line)).toEqual({
      action: 'die',
      containerId: 'abc',
      containerName: 'c',
      labels: { name: 'c', 'evenkeel.kind': 'application' },
      timeNano: '1795969047971123457',
    })
  })
})

describe('readLogLines', () => {
  const frame = (stream: number, text: string) => {
    const header = Buffer.from([stream, 0, 0, 0, 0, 0, 0, 0])
    header.writeUInt32BE(Buffer.byteLength(text), 4)
    return Buffer.concat([header, Buffer.from(text)])
  }
  const read = async (stream: NodeJS.ReadableStream, tty = false) => {
    const lines: LogLine[] = []
    await readLogLines(stream, tty, (batch) => void lines.push(...batch), signal)
    return lines
  }

  it('frames cut at any byte, a line in two messages -> whole lines, each with its stream and first time', async () => {
    const bytes = Buffer.concat([
      frame(1, '2026-01-01T00:00:00Z hél'),
      frame(2, '2026-01-01T00:00:01Z bad\n'),
      frame(1, '2026-01-01T00:00:02Z lo\n'),
    ])
    for (let cut = 1; cut < bytes.length; cut++) {
      expect(await read(chunks(bytes.subarray(0, cut), bytes.subarray(cut)))).toEqual([
        { stream: 'stderr', at: '2026-01-01T00:00:01Z', text: 'bad' },
        { stream: 'stdout', at: '2026-01-01T00:00:00Z', text: 'héllo' },
      ])
    }
  })

  it('a message said again as its file is put aside, also across a message of the other stream -> told once', async () => {
    const [one, two] = [frame(1, '2026-01-01T00:00:00.000000001Z one\n'), frame(1, '2026-01-01T00:00:00.000000002Z one\n')]
    const other = frame(2, '2026-01-01T00:00:00.000000003Z other\n')
    expect(await read(chunks(one, two, other, two, other, other))).toEqual([
      { stream: 'stdout', at: '2026-01-01T00:00:00.000000001Z', text: 'one' },
      { stream: 'stdout', at: '2026-01-01T00:00:00.000000002Z', text: 'one' },
      { stream: 'stderr', at: '2026-01-01T00:00:00.000000003Z', text: 'other' },
    ])
  })

  it('equal pieces of one long line -> all of them', async () => {
    const piece = frame(1, '2026-01-01T00:00:00.000000001Z aaaa')
    const [line] = await read(chunks(piece, piece, piece, frame(1, '2026-01-01T00:00:00.000000001Z a\n')))
    expect(line?.text).toBe('aaaaaaaaaaaaa')
  })

  it('a terminal -> plain text', async () => {
    expect(await read(chunks('2026-01-01T00:00:00Z one\r\n2026-01-01T00:00:01Z two'), true)).toEqual([
      { stream: 'stdout', at: '2026-01-01T00:00:00Z', text: 'one' },
      { stream: 'stdout', at: '2026-01-01T00:00:01Z', text: 'two' },
    ])
  })

  it('megabytes without a line end -> cut, not kept', async () => {
    const lines = await read(chunks(frame(1, `2026-01-01T00:00:00Z ${'x'.repeat(200_000)}`)))
    expect(lines.length).toBe(1)
    expect((await read(chunks(...Array.from({ length: 4 }, () => frame(1, 'y'.repeat(60_000)))))).length).toBeGreaterThan(1)
  })
})
