import type { Readable } from 'node:stream'
import type { LogLine } from './engine.js'

const headerBytes = 8
/** A container may write gigabytes without a line end; such a line is cut. */
const longestLineBytes = 64 * 1024

/** What the engine puts before each message when it is asked for timestamps. */
const stamp = /^(\d{4}-\d\d-\d\dT\S+) /

/**
 * Reads a container's log. Without a terminal the engine mixes both streams in frames (1 byte stream, 3 unused,
 * 4 length, payload), a frame a message; a long line comes as several messages, each with its own time. With a terminal
 * it sends plain text.
 */
export async function readLogLines(
  stream: NodeJS.ReadableStream,
  tty: boolean,
  onLine: (line: LogLine) => void,
  signal: AbortSignal,
): Promise<void> {
  const lines = { stdout: new LineBuffer('stdout', onLine), stderr: new LineBuffer('stderr', onLine) }
  let pending = Buffer.alloc(0)
  try {
    for await (const chunk of stream as Readable) {
      if (tty) lines.stdout.add(chunk as Buffer)
      else
        pending = takeFrames(Buffer.concat([pending, chunk as Buffer]), (stderr, bytes) =>
          lines[stderr ? 'stderr' : 'stdout'].addMessage(bytes),
        )
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
  lines.stdout.end()
  lines.stderr.end()
}

/** Takes whole frames off the beginning and answers the rest. */
export function takeFrames(buffer: Buffer, onFrame: (stderr: boolean, bytes: Buffer) => void): Buffer<ArrayBuffer> {
  let at = 0
  while (buffer.length - at >= headerBytes) {
    const end = at + headerBytes + buffer.readUInt32BE(at + 4)
    if (end > buffer.length) break
    onFrame(buffer[at] === 2, buffer.subarray(at + headerBytes, end))
    at = end
  }
  return Buffer.from(buffer.subarray(at))
}

class LineBuffer {
  private rest: Buffer = Buffer.alloc(0)

  constructor(
    private readonly stream: LogLine['stream'],
    private readonly onLine: (line: LogLine) => void,
  ) {}

  /** One message; the time of a line is that of its first. */
  addMessage(bytes: Buffer): void {
    const own = this.rest.length > 0 ? stamp.exec(bytes.toString('latin1', 0, 64)) : null
    this.add(own ? bytes.subarray(own[0].length) : bytes)
  }

  add(bytes: Buffer): void {
    let data = Buffer.concat([this.rest, bytes])
    for (let end = data.indexOf(10); end !== -1; end = data.indexOf(10)) {
      this.tell(data.subarray(0, end))
      data = data.subarray(end + 1)
    }
    if (data.length > longestLineBytes) {
      this.tell(data)
      data = Buffer.alloc(0)
    }
    this.rest = data
  }

  end(): void {
    if (this.rest.length > 0) this.tell(this.rest)
  }

  private tell(line: Buffer): void {
    const text = line.toString('utf8').replace(/\r$/, '')
    const found = stamp.exec(text)
    this.onLine({ stream: this.stream, at: found?.[1] ?? '', text: found ? text.slice(found[0].length) : text })
  }
}
