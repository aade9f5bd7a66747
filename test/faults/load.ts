import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

const workers = 4
const pauseMs = 15
const timeoutMs = 10_000
const body = 'x'.repeat(2_000)

export interface LoadResult {
  sent: number
  lost: number
  /** The longest time in which nothing was answered well. */
  longestGapMs: number
  slowestMs: number
  /** The first few, in words. */
  losses: string[]
  /** How often each version answered. */
  versions: Record<string, number>
}

/** GETs and POSTs over kept-alive connections, without a retry, a bounded number at a time, until it is stopped. */
export class Load {
  private stopping = false
  private readonly agent = new Agent({ keepAlive: true, maxSockets: workers })
  private readonly result: LoadResult = { sent: 0, lost: 0, longestGapMs: 0, slowestMs: 0, losses: [], versions: {} }
  private lastGoodAt = Date.now()
  private readonly running: Promise<void>[]

  /** `host`: for what many hosts share. */
  constructor(
    private readonly url: string,
    private readonly host?: string,
  ) {
    this.running = Array.from({ length: workers }, (_, n) => this.work(n % 2 === 0 ? 'GET' : 'POST'))
  }

  get soFar(): Readonly<LoadResult> {
    return this.result
  }

  async stop(): Promise<LoadResult> {
    this.stopping = true
    await Promise.all(this.running)
    this.agent.destroy()
    return this.result
  }

  private async work(method: 'GET' | 'POST'): Promise<void> {
    while (!this.stopping) {
      const began = Date.now()
      this.result.sent++
      const why = await this.once(method).catch((error: Error) => error.message)
      const now = Date.now()
      this.result.slowestMs = Math.max(this.result.slowestMs, now - began)
      if (why === null) {
        this.result.longestGapMs = Math.max(this.result.longestGapMs, now - this.lastGoodAt)
        this.lastGoodAt = now
      } else {
        this.result.lost++
        if (this.result.losses.length < 10) this.result.losses.push(`${new Date(began).toISOString()} ${method} after ${now - began} ms: ${why}`)
      }
      await sleep(pauseMs)
    }
  }

  /** Null when it was answered as it should be. */
  private once(method: 'GET' | 'POST'): Promise<string | null> {
    return new Promise((resolve, reject) => {
      const sent = request(this.url, { method, agent: this.agent, timeout: timeoutMs, ...(this.host ? { headers: { host: this.host } } : {}) }, (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => (text += chunk))
        response.once('error', reject)
        response.once('end', () => {
          if (response.statusCode !== 200) return resolve(`status ${response.statusCode}`)
          const answer = JSON.parse(text) as { version?: string; length?: number }
          if (method === 'POST') return resolve(answer.length === body.length ? null : `length ${answer.length}`)
          this.result.versions[answer.version ?? ''] = (this.result.versions[answer.version ?? ''] ?? 0) + 1
          resolve(null)
        })
      })
      sent.once('timeout', () => sent.destroy(new Error(`no answer within ${timeoutMs} ms`)))
      sent.once('error', reject)
      sent.end(method === 'POST' ? body : undefined)
    })
  }
}
