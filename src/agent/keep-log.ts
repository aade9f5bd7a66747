import type { ArgsOf, ResultOf } from '../reconcile/action.js'
import type { ActionContext } from './executor.js'
import { requireOwn } from './ownership.js'

const lineBytesMost = 2 * 1024
const logBytesMost = 32 * 1024

/** Keeps the last lines, both streams in the order in which the engine has them. A container that is gone had none. */
export async function keepLog(
  { name, lines }: ArgsOf<'keepLog'>,
  { engine, owner, artifacts, signal }: ActionContext,
): Promise<ResultOf['keepLog']> {
  const found = await engine.inspect(name)
  if (!found) return { sha256: null }
  requireOwn(found, owner)
  const read: string[] = []
  await engine.logs(found.id, { follow: false, tail: lines, sinceMs: null }, ({ text }) => read.push(text), signal)
  signal.throwIfAborted()
  const text = endOf(read.slice(-lines))
  return { sha256: text === '' ? null : await artifacts.put(Buffer.from(text), signal) }
}

/** As many whole lines from the end as there is room for. */
export function endOf(lines: string[]): string {
  const kept: string[] = []
  let room = logBytesMost
  for (const line of lines.map(shortened).reverse()) {
    room -= Buffer.byteLength(line) + 1
    if (room < 0) break
    kept.unshift(line)
  }
  return kept.map((line) => `${line}\n`).join('')
}

/** What was cut in the middle of a character loses it. */
function shortened(line: string): string {
  const bytes = Buffer.from(line)
  if (bytes.length <= lineBytesMost) return line
  return bytes
    .subarray(0, lineBytesMost)
    .toString('utf8')
    .replace(/\uFFFD$/, '')
}
