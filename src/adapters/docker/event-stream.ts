import type { EngineEvent } from './engine.js'
import { linesOf } from './json-lines.js'

interface RawEvent {
  Action: string
  Actor: { ID: string; Attributes: Record<string, string> }
}

/** Reads container events until the stream breaks or `signal` aborts; both are an ordinary end. */
export async function readEvents(
  stream: NodeJS.ReadableStream,
  onEvent: (event: EngineEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const line of linesOf(stream)) onEvent(toEngineEvent(line))
  } catch (error) {
    if (!signal.aborted && !broken(error)) throw error
  }
}

export function toEngineEvent(line: string): EngineEvent {
  const { Action, Actor } = JSON.parse(line) as RawEvent
  return {
    action: Action,
    containerId: Actor.ID,
    containerName: Actor.Attributes['name'] ?? '',
    labels: Actor.Attributes,
    // A JavaScript number cannot hold nanoseconds since the epoch, so the text is taken as it stands.
    timeNano: /"timeNano":(\d+)/.exec(line)?.[1] ?? '0',
  }
}

function broken(error: unknown): boolean {
  const code = (error as { code?: string }).code
  return code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE'
}
