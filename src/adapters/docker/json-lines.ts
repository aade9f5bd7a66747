import type { Readable } from 'node:stream'

/** The lines of a stream, without their ends. Fails when the stream breaks before its end. */
export async function* linesOf(stream: NodeJS.ReadableStream): AsyncGenerator<string> {
  let rest = ''
  const decoder = new TextDecoder()
  for await (const chunk of stream as Readable) {
    const lines = (rest + decoder.decode(chunk as Buffer, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.trim() !== '') yield line
  }
  if (rest.trim() !== '') yield rest
}
