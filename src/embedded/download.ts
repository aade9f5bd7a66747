import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { reasonOf } from './reason.js'

/** No answer within this time means that there is no way to the internet: the next source is tried at once. */
const FIRST_ANSWER_MS = 3_000
/** A link that delivers 45 MB slower than this is not worth waiting for. */
const WHOLE_DOWNLOAD_MS = 10 * 60_000

/** Downloads a file; the caller checks its checksum before anything uses it. */
export async function download(url: string, to: string): Promise<void> {
  const abort = new AbortController()
  const impatience = setTimeout(() => abort.abort(new Error(`no answer within ${FIRST_ANSWER_MS} ms`)), FIRST_ANSWER_MS)
  const deadline = setTimeout(() => abort.abort(new Error('took too long')), WHOLE_DOWNLOAD_MS)
  try {
    const response = await fetch(url, { signal: abort.signal })
    clearTimeout(impatience)
    if (!response.ok || !response.body) throw new Error(`answered ${response.status}`)
    await pipeline(Readable.fromWeb(response.body), createWriteStream(to), { signal: abort.signal })
  } catch (error) {
    throw new Error(`${url}: ${reasonOf(error)}`, { cause: error })
  } finally {
    clearTimeout(impatience)
    clearTimeout(deadline)
  }
}

/** Refuses a file whose content is not exactly the pinned one. */
export async function checkSha256(file: string, expected: string): Promise<void> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  const actual = hash.digest('hex')
  if (actual !== expected) throw new Error(`${file} has sha256 ${actual}, expected ${expected}: not used`)
}
