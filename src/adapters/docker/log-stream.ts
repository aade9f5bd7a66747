import type { Readable } from 'node:stream'
import type { LogLine } from './node-engine.js'

const headerBytes = 8
/** A container may write gigabytes without a line end; such a line is cut. */
const longestLineBytes = 64 * 1024

/**
 * Reads a container's log. Without a terminal the engine mixes both streams in frames (1 byte stream, 3 unused,
 * 4 length, payload), with one it sends plain text.
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
      else pending = takeFrames(Buffer.concat([pending, chunk as Buffer]), (stderr, bytes) => lines[stderr ? 'stderr' : 'stdout'].add(bytes))
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
  lines.stdout.end()
  lines.stderr.end()
}

function takeFrames(buffer: Buffer, onFrame: (stderr: boolean, bytes: Buffer) => void): Buffer<ArrayBuffer> {
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
  private rest = Buffer.alloc(0)

  constructor(
    private readonly stream: LogLine['stream'],
    private readonly onLine: (line: LogLine) => void,
  ) {}

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
    this.rest = Buffer.from(data)
  }

  end(): void {
    if (this.rest.length > 0) this.tell(this.rest)
  }

  /** With timestamps every line is `<RFC 3339> <text>`. */
  private tell(line: Buffer): void {
    const text = line.toString('utf8').replace(/\r$/, '')
    const space = text.indexOf(' ')
    this.onLine({ stream: this.stream, at: text.slice(0, space), text: text.slice(space + 1) })
  }
}
