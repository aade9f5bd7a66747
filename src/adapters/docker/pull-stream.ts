import { linesOf } from './json-lines.js'

interface ProgressLine {
  error?: string
  errorDetail?: { message?: string }
}

/**
 * Reads a pull to its end. The engine answers 200 before it has begun, so the real outcome is in the stream; one that
 * breaks off is a failure, not a success.
 */
export async function readProgress(stream: NodeJS.ReadableStream, signal: AbortSignal): Promise<void> {
  for await (const line of linesOf(stream)) {
    signal.throwIfAborted()
    const { error, errorDetail } = JSON.parse(line) as ProgressLine
    const message = errorDetail?.message ?? error
    if (message !== undefined) throw new Error(message)
  }
}
