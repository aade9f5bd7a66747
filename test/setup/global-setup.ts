import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { searchAttributeTypes } from '../../workflows/messages.js'
import { cacheDir } from '../../src/embedded/cache-dir.js'
import { ensureDocker } from '../../src/embedded/docker-engine.js'
import { freePort } from '../../src/embedded/ports.js'
import { startPostgres } from '../../src/embedded/postgres.js'
import { ensureTemporalBinary, startTemporal } from '../../src/embedded/temporal.js'
import { ensureTestImages } from './test-images.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** An empty PostgreSQL of the suite's own: see createTestDatabase. */
    postgresUrl: string
    /** A Temporal server of the suite's own, with the search attributes of the workflows. */
    temporalAddress: string
    temporalUiUrl: string
  }
}

const log = (line: string): void => console.log(`set-up: ${line}`)

/**
 * What the integration tests share: a Docker engine, the images, one PostgreSQL and one Temporal server. Tests keep
 * apart by databases, task queues and instance ids of their own.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await ensureTestImages(await ensureDocker(log), log)
  const binary = await ensureTemporalBinary({ cacheDir: cacheDir(), log })
  const folder = await mkdtemp(join(tmpdir(), 'evenkeel-test-'))
  const postgres = await startPostgres({ stateDir: join(folder, 'postgres'), port: await freePort(), log })
  const temporal = await startTemporal({
    binary,
    stateDir: join(folder, 'temporal'),
    grpcPort: await freePort(),
    uiPort: await freePort(),
    log,
    searchAttributes: searchAttributeTypes,
  })
  project.provide('postgresUrl', postgres.url)
  project.provide('temporalAddress', temporal.address)
  project.provide('temporalUiUrl', temporal.uiUrl)
  return async () => {
    await temporal.stop()
    await postgres.stop()
    await rm(folder, { recursive: true, force: true })
  }
}
