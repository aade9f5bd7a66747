import 'reflect-metadata'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { NestExpressApplication } from '@nestjs/platform-express'
import type { ApiOptions, NudgePort } from '../../src/api/api.options.js'
import { createApi } from '../../src/api/create-api.js'
import { defaultLimits } from '../../src/api/limits/limits.js'
import { initialise, type Initialised } from '../../src/bootstrap/initialise.js'
import { keyFileAt } from '../../src/bootstrap/master-key.js'
import { createLogger } from '../../src/log.js'
import { openDatabase, type Database } from '../../src/persistence/database.js'
import type { DueResource } from '../../src/persistence/pass-store.js'
import { homePaths, readSettings, type Settings } from '../../src/settings.js'
import { createTestDatabase } from '../setup/test-database.js'

/** Remembers whom it was asked to nudge, and fails when it is told to. */
export class FakeNudges implements NudgePort {
  readonly nudged: DueResource[] = []
  failing = false

  async nudge(resource: DueResource): Promise<void> {
    if (this.failing) throw new Error('Temporal is away')
    this.nudged.push(resource)
  }
}

export interface GraphqlAnswer {
  status: number
  data: any
  errors: { message: string; path?: string[]; extensions: Record<string, unknown> }[]
}

/** The real API over a real database of its own, listening on a free port, with an owner. */
export interface ApiUnderTest {
  app: NestExpressApplication
  url: string
  databaseUrl: string
  db: Database
  settings: Settings
  nudges: FakeNudges
  initialised: Initialised
  ownerToken: string
  /** The control plane's clock: moves only when a test moves it. null = the real one. */
  time: { now: number | null }
  temporal: { failing: boolean }
  graphql(query: string, variables?: object, token?: string | null): Promise<GraphqlAnswer>
  stop(): Promise<void>
}

export async function startApi(changes: Partial<ApiOptions> = {}): Promise<ApiUnderTest> {
  const database = await createTestDatabase()
  const home = await mkdtemp(join(tmpdir(), 'ek-api-'))
  const settings = readSettings({ EVENKEEL_HOME: home, EVENKEEL_LOG_LEVEL: process.env['EVENKEEL_LOG_LEVEL'] ?? 'silent' })
  const db = openDatabase(database.url)
  const initialised = await initialise({ settings, db, hostName: 'test-host' })
  const ownerToken = (await readFile(initialised.ownerTokenFile, 'utf8')).trim()
  const nudges = new FakeNudges()
  const time: { now: number | null } = { now: null }
  const temporal = { failing: false }
  const app = await createApi({
    settings,
    database: db,
    databaseUrl: database.url,
    keys: keyFileAt(homePaths(home).masterKey),
    nudges,
    temporal: {
      check: async () => {
        if (temporal.failing) throw new Error('Temporal does not answer')
      },
    },
    previews: null,
    localNodeId: initialised.node.id,
    limits: defaultLimits,
    clock: () => time.now ?? Date.now(),
    log: createLogger('api', settings.logLevel),
    ...changes,
  })
  await app.listen(0, '127.0.0.1')
  const url = await app.getUrl()

  const graphql = async (query: string, variables: object = {}, token: string | null = ownerToken): Promise<GraphqlAnswer> => {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token === null ? {} : { authorization: `Bearer ${token}` }) },
      body: JSON.stringify({ query, variables }),
    })
    const { data, errors } = (await response.json()) as Partial<GraphqlAnswer>
    return { status: response.status, data: data ?? null, errors: errors ?? [] }
  }

  return {
    app,
    url,
    databaseUrl: database.url,
    db,
    settings,
    nudges,
    initialised,
    ownerToken,
    time,
    temporal,
    graphql,
    async stop() {
      await app.close()
      await db.$disconnect()
      await database.drop()
      await rm(home, { recursive: true, force: true })
    },
  }
}
