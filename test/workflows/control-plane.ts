import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NativeConnection, Worker } from '@temporalio/worker'
import { createControlActivities } from '../../activities/control.activities.js'
import { generateSigningKey, signingKeyOf } from '../../src/adapters/crypto/signing.js'
import { cacheDir } from '../../src/embedded/cache-dir.js'
import { migrate } from '../../src/embedded/migrate.js'
import { freePort } from '../../src/embedded/ports.js'
import { startPostgres } from '../../src/embedded/postgres.js'
import { ensureTemporalBinary, startTemporal } from '../../src/embedded/temporal.js'
import { openDatabase } from '../../src/persistence/database.js'
import { PostgresPassStore } from '../../src/persistence/postgres-pass-store.js'
import type { ApplicationSpec } from '../../src/reconcile/application/spec.js'
import { controlQueue, nodeQueue } from '../../src/reconcile/kind.js'
import { NudgeClient } from '../../src/temporal/nudge.client.js'
import { searchAttributeTypes } from '../../workflows/messages.js'
import { FakeNode } from './fake-node.js'

const instance = 'workflowtest'
const nodeId = 'node_fake'
const workflowsPath = join(import.meta.dirname, '../../workflows/index.ts')

export type ControlPlane = Awaited<ReturnType<typeof startControlPlane>>

/** Real PostgreSQL, real Temporal and the real control worker, beside a node that is not. */
export async function startControlPlane() {
  const state = mkdtempSync(join(tmpdir(), 'evenkeel-workflows-'))
  const log = () => undefined
  const postgres = await startPostgres({ stateDir: join(state, 'pg'), port: await freePort(), log })
  await migrate(postgres.url)
  const binary = await ensureTemporalBinary({ cacheDir: cacheDir(), log })
  const grpcPort = await freePort()
  const temporal = await startTemporal({
    binary,
    stateDir: join(state, 'temporal'),
    grpcPort,
    uiPort: await freePort(),
    searchAttributes: searchAttributeTypes,
    log,
  })
  const db = openDatabase(postgres.url)
  const address = `127.0.0.1:${grpcPort}`
  const nudges = await NudgeClient.connect(address, 'default')
  const { privatePem, pinned } = generateSigningKey()
  const node = new FakeNode(nodeId, instance, pinned)
  const connection = await NativeConnection.connect({ address })

  const project = await db.project.create({ data: { id: 'prj_test', name: 'test' } })
  await db.resource.create({
    data: {
      id: nodeId,
      kind: 'node',
      projectId: project.id,
      name: 'fake',
      spec: {},
      // Never seen is not away: nobody sends heartbeats for it.
      nodeStatus: { create: { subnet: '10.192.0.0/20' } },
    },
  })

  const control = createControlActivities({
    instance,
    store: new PostgresPassStore(db, { dnsTtlSeconds: 1 }),
    signingKey: signingKeyOf(privatePem),
    clock: Date.now,
    nudge: (resource) => nudges.nudge(resource),
    log,
  })
  const workers = await Promise.all([
    Worker.create({ connection, taskQueue: controlQueue, workflowsPath, activities: control }),
    Worker.create({ connection, taskQueue: nodeQueue(nodeId, 'short'), activities: node.activities() }),
    Worker.create({ connection, taskQueue: nodeQueue(nodeId, 'long'), activities: node.activities() }),
  ])
  const running = Promise.all(workers.map((w) => w.run()))

  return {
    db,
    node,
    nudges,
    control,
    client: nudges.temporal,
    server: { binary, address },
    async create(id: string, spec: ApplicationSpec): Promise<void> {
      await db.resource.create({ data: { id, kind: 'application', projectId: project.id, name: nameOf(id), spec } })
    },
    async change(id: string, spec: ApplicationSpec): Promise<void> {
      await db.resource.update({ where: { id }, data: { spec, generation: { increment: 1 } } })
    },
    nudge: (id: string) => nudges.nudge({ id, kind: 'application', project: project.name, name: nameOf(id) }),
    async stop(): Promise<void> {
      for (const worker of workers) worker.shutdown()
      await running
      await nudges.close()
      await connection.close()
      await db.$disconnect()
      await temporal.stop()
      await postgres.stop()
    },
  }
}

const nameOf = (id: string) => id.replace('app_', '')
