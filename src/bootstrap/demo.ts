import type { Database } from '../persistence/database.js'
import { platformProject } from '../persistence/project.repository.js'
import { ResourceRepository } from '../persistence/resource.repository.js'
import { nginxdemoSpecSchema, type NginxdemoSpec } from '../reconcile/nginxdemo/spec.js'
import type { Settings } from '../settings.js'

/** The demo as `up` needs it: whom to nudge, and where it answers. */
export interface Demo {
  id: string
  kind: 'nginxdemo'
  project: string
  name: string
  hostPort: number
  /** Under which ingress serves it. */
  host: string | undefined
  /** A person or a restore stopped its loop: it is as it is. */
  paused: boolean
}

const demoName = 'demo'
/** Every browser takes names below localhost for this machine. */
const demoHost = 'demo.localhost'
/** Actor of what `up` asks for by itself. */
export const upActor = 'up'

/**
 * Makes sure that the demo is wanted. Its port follows the setting for as long as nobody else has changed the demo:
 * a person's wish is never overwritten. Its host is left to whoever has it.
 */
export async function ensureDemo(db: Database, settings: Settings): Promise<Demo> {
  const spec: NginxdemoSpec = { hostPort: settings.demoPort, host: demoHost }
  return (await ensureWanted(db, spec)) ?? (await ensureWanted(db, { hostPort: settings.demoPort })) ?? refusedHost()
}

function refusedHost(): never {
  throw new Error('the demo could not be made: its host is taken, and it was refused without one as well')
}

/** null: somebody else has the host. */
async function ensureWanted(db: Database, spec: NginxdemoSpec): Promise<Demo | null> {
  const resources = new ResourceRepository(db)
  const context = { actor: upActor, ability: 'admin', operation: 'ensureDemo', now: new Date() }
  const made = await resources.create({ kind: 'nginxdemo', projectId: platformProject.id, name: demoName, spec }, context)
  if (made.outcome === 'domainTaken') return null
  if (made.outcome === 'created') return demoOf(made.resource.id, spec, false)
  if (made.outcome !== 'nameTaken' || made.holder.kind !== 'nginxdemo')
    throw new Error(
      `the demo could not be made: ${made.outcome === 'nameTaken' ? `its name is held by ${made.holder.id}` : made.outcome}`,
    )

  const { id } = made.holder
  const ownWish = (await resources.lastActor(id)) === upActor
  const kept = await resources.patch(
    { id, kind: 'nginxdemo' },
    null,
    (current) => ({
      spec: ownWish ? { ...nginxdemoSpecSchema.parse(current), ...spec } : (current as object),
    }),
    context,
  )
  if (kept.outcome === 'domainTaken') return null
  const current = 'resource' in kept ? nginxdemoSpecSchema.parse(kept.resource.spec) : spec
  return demoOf(id, current, 'resource' in kept && kept.resource.paused)
}

function demoOf(id: string, { hostPort, host }: NginxdemoSpec, paused: boolean): Demo {
  return { id, kind: 'nginxdemo', project: platformProject.name, name: demoName, hostPort, host, paused }
}
