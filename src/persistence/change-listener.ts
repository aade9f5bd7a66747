import pg from 'pg'
import { changesChannel } from './announce.js'

/** Waits between tries to get the connection back: the first one, doubling to the longest. */
const reconnectFirstMs = 200
const reconnectLongestMs = 5_000
/** A dead connection that nobody closed is noticed after this long. */
const probeEveryMs = 15_000

export interface ChangeListenerCallbacks {
  changed(resourceId: string): void
  /** The connection is back after a break that began at the given time: what was told between is lost. */
  resumed(brokenAt: Date): void
  log(message: string, error: unknown): void
}

/** Hears `announce` on a connection of its own, which comes back by itself. */
export class ChangeListener {
  private connection: { client: pg.Client; lost(error: unknown): void } | undefined
  private stopped = false
  private retry: NodeJS.Timeout | undefined
  private probe: NodeJS.Timeout | undefined
  private brokenAt: Date | undefined
  private waitMs = reconnectFirstMs

  constructor(
    private readonly url: string,
    private readonly callbacks: ChangeListenerCallbacks,
  ) {}

  /** PostgreSQL has acknowledged the LISTEN: what is announced from now on is heard. */
  get listening(): boolean {
    return this.connection !== undefined
  }

  /** Starts connecting and does not wait for it: whoever listens is told by `resumed` when it has not been there from the start. */
  start(): void {
    void this.connect()
    this.probe = setInterval(() => void this.probeConnection(), probeEveryMs)
    this.probe.unref()
  }

  async stop(): Promise<void> {
    this.stopped = true
    clearTimeout(this.retry)
    clearInterval(this.probe)
    await this.connection?.client.end().catch(() => {})
  }

  private async connect(): Promise<void> {
    const client = new pg.Client({ connectionString: this.url, connectionTimeoutMillis: 5_000, keepAlive: true })
    let given = false
    /** Once a connection: its error, its end and a failed try may all tell of the same break. */
    const lost = (error: unknown): void => {
      if (given) return
      given = true
      void client.end().catch(() => {})
      this.lost(error)
    }
    client.on('notification', ({ payload }) => {
      if (payload && !given) this.callbacks.changed(payload)
    })
    client.on('error', lost)
    client.on('end', () => lost(new Error('the connection ended')))
    try {
      await client.connect()
      await client.query(`LISTEN ${changesChannel}`)
    } catch (error) {
      return lost(error)
    }
    if (given) return
    if (this.stopped) return void client.end().catch(() => {})
    this.connection = { client, lost }
    this.waitMs = reconnectFirstMs
    const { brokenAt } = this
    this.brokenAt = undefined
    if (brokenAt) this.callbacks.resumed(brokenAt)
  }

  private lost(error: unknown): void {
    this.connection = undefined
    if (this.stopped) return
    if (!this.brokenAt) {
      this.brokenAt = new Date()
      this.callbacks.log('the connection that hears changes broke; it is tried again until it is back', error)
    }
    this.retry = setTimeout(() => void this.connect(), this.waitMs)
    this.waitMs = Math.min(this.waitMs * 2, reconnectLongestMs)
  }

  private async probeConnection(): Promise<void> {
    const { connection } = this
    if (!connection) return
    try {
      await Promise.race([connection.client.query('SELECT 1'), timeout(5_000)])
    } catch (error) {
      connection.lost(error)
    }
  }
}

function timeout(ms: number): Promise<never> {
  return new Promise((_, reject) => setTimeout(() => reject(new Error(`no answer in ${ms / 1000} s`)), ms).unref())
}
