import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { heldHostPorts } from '../../src/persistence/application-claims.js'
import { openDatabase, type Database } from '../../src/persistence/database.js'
import { DomainRepository } from '../../src/persistence/domain.repository.js'
import { servedOn } from '../../src/persistence/node-access.js'
import { readSnapshot } from '../../src/persistence/snapshot.js'
import { createTestDatabase } from '../setup/test-database.js'

describe('nodes that joined at one moment', () => {
  let db: Database
  let drop: () => Promise<void>
  beforeAll(async () => {
    const database = await createTestDatabase()
    db = openDatabase(database.url)
    drop = async () => {
      await db.$disconnect()
      await database.drop()
    }
    const createdAt = new Date(Date.UTC(2030, 0, 1))
    await db.project.create({ data: { id: 'proj_shop', name: 'shop' } })
    const row = { projectId: 'proj_shop', createdAt }
    for (const name of ['n2', 'n1'])
      await db.resource.create({ data: { ...row, id: `node_${name}`, kind: 'node', name, spec: {}, nodeStatus: { create: {} } } })
    const spec = { image: 'web:1', publishedPorts: [{ hostPort: 8000, port: 80 }] }
    for (const id of ['app_a', 'app_b']) await db.resource.create({ data: { ...row, id, kind: 'application', name: id, spec } })
  })
  afterAll(() => drop())

  /** By everybody who asks where an application lives that names no node. */
  const homes = () =>
    db.$transaction(
      async (tx) => ({
        planned: ((await readSnapshot(tx, 'app_a', 'read', 5))?.desired as { node: string } | undefined)?.node,
        claimed: (await heldHostPorts(tx, { id: 'app_a', node: undefined, ports: [{ hostPort: 8000, protocol: 'tcp' }] }))[0]
          ?.node,
        shown: (await new DomainRepository(db).doors()).home,
        trusted: [(await servedOn(tx, 'node_n1', 'app_a')) !== null, (await servedOn(tx, 'node_n2', 'app_a')) !== null],
      }),
      { maxWait: 20_000, timeout: 20_000 },
    )

  it.each(['node_n1', 'node_n2', 'node_n1'])(
    '%s is written -> the first by id is home to all that names none',
    async (written) => {
      await db.nodeStatus.update({ where: { resourceId: written }, data: { lastSeenAt: new Date() } })
      await db.resource.update({ where: { id: written }, data: { generation: { increment: 1 } } })
      // As autovacuum does by and by: from then on rows are read in the order in which they lie on the disk.
      await db.$executeRaw`ANALYZE`
      expect(await homes()).toEqual({ planned: 'node_n1', claimed: 'n1', shown: 'n1', trusted: [true, false] })
    },
  )
})
