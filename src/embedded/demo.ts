import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../persistence/database.js'
import { platformProject } from '../persistence/project.repository.js'
import { ResourceRepository } from '../persistence/resource.repository.js'
import { nginxdemoSpecSchema } from '../reconcile/nginxdemo/spec.js'
import type { SetupLog } from './setup-log.js'

/** Tells that the demo was made once: whoever deletes it does not get it back at the next start. */
const OFFERED = 'demoOffered'
const READY_TIMEOUT_MS = 180_000

export interface Demo {
  readonly id: string
  readonly hostPort: number
}

/** The demo, made at the first start of an instance; nothing when a person has deleted it. */
export async function ensureDemo(db: Database, hostPort: number): Promise<Demo | undefined> {
  const resources = new ResourceRepository(db)
  if (!(await db.setting.findUnique({ where: { key: OFFERED } }))) {
    const draft = { kind: 'nginxdemo', projectId: platformProject.id, name: 'demo', spec: { hostPort } } as const
    await resources.create(draft, { actor: 'up', ability: 'admin', operation: 'nginxdemoCreate', now: new Date() })
    await db.setting.upsert({ where: { key: OFFERED }, create: { key: OFFERED, value: true }, update: {} })
  }
  const page = await resources.list({ kind: 'nginxdemo', projectId: platformProject.id, name: 'demo' }, { first: 1, after: null })
  const [row] = page.rows
  if (!row || row.deletionRequestedAt) return undefined
  return { id: row.id, hostPort: nginxdemoSpecSchema.parse(row.spec).hostPort }
}

/** Waits until the demo was seen to be Ready; tells what it waits for whenever that changes. */
export async function waitForDemo(db: Database, demo: Demo, log: SetupLog): Promise<void> {
  const deadline = Date.now() + READY_TIMEOUT_MS
  let told = ''
  for (;;) {
    const ready = await db.condition.findUnique({ where: { resourceId_type: { resourceId: demo.id, type: 'Ready' } } })
    if (ready?.status === 'True') return
    const now = ready ? `${ready.reason}: ${ready.message}` : 'nobody has looked at it yet'
    if (Date.now() > deadline) throw new Error(`the demo is not Ready after ${READY_TIMEOUT_MS / 1000} s (${now})`)
    if (ready && now !== told) log(now)
    told = now
    await sleep(100)
  }
}
