import type { Readable } from 'node:stream'
import type { LogLine } from './engine.js'

const headerBytes = 8
/** A container may write gigabytes without a line end; such a line is cut. */
const longestLineBytes = 64 * 1024

/** What the engine puts before each message when it is asked for timestamps. */
const stamp = /^(\d{4}-\d\d-\d\dT\S+) /
/** Docker's own stamp has nine digits and a Z, so that it is found without searching. */
const stampLength = 30

/**
 * Reads a container's log. Without a terminal the engine mixes both streams in frames (1 byte stream, 3 unused,
 * 4 length, payload), a frame a message; a long line comes as several messages, each with its own time. With a terminal
 * it sends plain text. `onLines` gets what one read brought; the next read waits for it.
 */
export async function readLogLines(
  stream: NodeJS.ReadableStream,
  tty: boolean,
  onLines: (lines: LogLine[]) => void | Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  let lines: LogLine[] = []
  const parser = new LogParser(tty, (line) => lines.push(line))
  const tell = (): void | Promise<void> => {
    if (lines.length === 0) return
    const told = lines
    lines = []
    return onLines(told)
  }
  try {
    for await (const chunk of stream as Readable) {
      parser.add(chunk as Buffer)
      await tell()
    }
  } catch (error) {
    if (!signal.aborted) throw error
    return // what is left is no whole line
  }
  parser.end()
  await tell()
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

class LogParser {
  private readonly stdout: LineBuffer
  private readonly stderr: LineBuffer
  private pending = Buffer.alloc(0)

  constructor(
    private readonly tty: boolean,
    onLine: (line: LogLine) => void,
  ) {
    this.stdout = new LineBuffer('stdout', onLine)
    this.stderr = new LineBuffer('stderr', onLine)
  }

  add(chunk: Buffer): void {
    if (this.tty) return this.stdout.add(chunk)
    const buffer = this.pending.length > 0 ? Buffer.concat([this.pending, chunk]) : chunk
    this.pending = takeFrames(buffer, (stderr, bytes) => (stderr ? this.stderr : this.stdout).addMessage(bytes))
  }

  end(): void {
    this.stdout.end()
    this.stderr.end()
  }
}

class LineBuffer {
  private rest: Buffer | null = null
  private lastAt = ''
  private lastEnd: Buffer | null = null

  constructor(
    private readonly stream: LogLine['stream'],
    private readonly onLine: (line: LogLine) => void,
  ) {}

  /**
   * One message; the time of a line is that of its first. Docker 20.10 begins its file once more when it puts it aside under a
   * reader, and then may say its last message again: the same to the nanosecond, which two lines of a program never are. What
   * ends no line is a piece of a longer one, and such pieces do share their time.
   */
  addMessage(bytes: Buffer): void {
    const endsLine = bytes.at(-1) === 10
    if (endsLine && this.lastEnd?.equals(bytes)) return
    this.lastEnd = endsLine ? bytes : null
    const own = this.rest ? stamp.exec(bytes.toString('latin1', 0, 64)) : null
    this.add(own ? bytes.subarray(own[0].length) : bytes)
  }

  add(bytes: Buffer): void {
    let data = this.rest ? Buffer.concat([this.rest, bytes]) : bytes
    for (let end = data.indexOf(10); end !== -1; end = data.indexOf(10)) {
      this.tell(data.subarray(0, end))
      data = data.subarray(end + 1)
    }
    if (data.length > longestLineBytes) {
      this.tell(data)
      data = data.subarray(data.length)
    }
    this.rest = data.length > 0 ? Buffer.from(data) : null
  }

  end(): void {
    if (this.rest) this.tell(this.rest)
    this.rest = null
  }

  private tell(bytes: Buffer): void {
    const line = bytes.at(-1) === 13 ? bytes.subarray(0, -1) : bytes
    if (line[stampLength] === 32 && line[stampLength - 1] === 90 && line[10] === 84 && line[19] === 46) {
      this.lastAt = line.toString('latin1', 0, stampLength)
      return this.onLine({ stream: this.stream, at: this.lastAt, text: line.toString('utf8', stampLength + 1) })
    }
    const text = line.toString('utf8')
    const found = stamp.exec(text)
    // The rest of a line that was cut has no time of its own.
    if (found?.[1] !== undefined) this.lastAt = found[1]
    this.onLine({ stream: this.stream, at: this.lastAt, text: found ? text.slice(found[0].length) : text })
  }
}
