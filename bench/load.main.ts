import { Agent, request } from 'node:http'
import { createInterface } from 'node:readline'
import { percentile, rounded } from './statistics.js'

/**
 * `load PORT HOST RATE`: GETs and POSTs in turns over kept-alive connections, RATE a second, without a retry, until its
 * input ends. A line of input closes a window: its figures come back as one line of JSON.
 */
const [port, host, rate] = [Number(process.argv[2]), process.argv[3] ?? '', Number(process.argv[4])]
const workers = 8
const timeoutMs = 20_000
const body = 'x'.repeat(2_000)
const agent = new Agent({ keepAlive: true, maxSockets: workers })

export interface LoadWindow {
  requests: number
  failed: number
  /** Of these, how many connections were reset before an answer. */
  resets: number
  p99_ms: number
  /** The longest time in which nothing was answered well. */
  longest_gap_ms: number
  /** The first few failures, in words. */
  failures: string[]
}

let window = emptyWindow()
let stopping = false

function emptyWindow() {
  return { sent: 0, resets: 0, failures: [] as string[], failed: 0, took: [] as number[], gap: 0, lastGoodAt: performance.now() }
}

async function work(worker: number): Promise<void> {
  const pauseMs = (1_000 * workers) / rate
  let next = performance.now() + (pauseMs * worker) / workers
  for (let n = worker; !stopping; n++) {
    const began = performance.now()
    const why = await once(n % 2 === 0 ? 'GET' : 'POST').catch((error: NodeJS.ErrnoException) => error.code ?? error.message)
    note(why, began)
    next = Math.max(next + pauseMs, performance.now())
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, next - performance.now())))
  }
}

function note(why: string | null, began: number): void {
  const now = performance.now()
  window.sent++
  window.took.push(now - began)
  if (why === null) {
    window.gap = Math.max(window.gap, now - window.lastGoodAt)
    window.lastGoodAt = now
    return
  }
  window.failed++
  if (why === 'ECONNRESET' || why === 'EPIPE') window.resets++
  if (window.failures.length < 10) window.failures.push(`${why} after ${Math.round(now - began)} ms`)
}

/** Null when it was answered as it should be. */
function once(method: 'GET' | 'POST'): Promise<string | null> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path: '/', method, agent, timeout: timeoutMs, headers: { host } }
    const sent = request(options, (response) => {
      response.resume()
      response.once('error', reject)
      response.once('end', () => resolve(response.statusCode === 200 ? null : `status ${response.statusCode}`))
    })
    sent.once('timeout', () => sent.destroy(new Error('no answer in time')))
    sent.once('error', reject)
    sent.end(method === 'POST' ? body : undefined)
  })
}

const lines = createInterface({ input: process.stdin })
lines.on('line', () => {
  const { sent, failed, resets, took, gap, lastGoodAt, failures } = window
  const longest = Math.max(gap, performance.now() - lastGoodAt)
  const told: LoadWindow = {
    requests: sent,
    failed,
    resets,
    p99_ms: rounded(percentile(took, 99)),
    longest_gap_ms: Math.round(longest),
    failures,
  }
  window = emptyWindow()
  console.log(JSON.stringify(told))
})
lines.on('close', () => (stopping = true))
await Promise.all(Array.from({ length: workers }, (_, n) => work(n)))
agent.destroy()
