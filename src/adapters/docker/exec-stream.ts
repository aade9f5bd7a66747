import type { Readable } from 'node:stream'
import { takeFrames } from './log-stream.js'

/** Reads what a command writes, to its end: both streams as they come, and no more than `mostBytes` of it kept. */
export async function readOutput(stream: NodeJS.ReadableStream, mostBytes: number): Promise<string> {
  const kept: Buffer[] = []
  let room = mostBytes
  let pending = Buffer.alloc(0)
  for await (const chunk of stream as Readable) {
    pending = takeFrames(Buffer.concat([pending, chunk as Buffer]), (_, bytes) => {
      kept.push(bytes.subarray(0, room))
      room -= Math.min(room, bytes.length)
    })
  }
  return Buffer.concat(kept).toString('utf8')
}
