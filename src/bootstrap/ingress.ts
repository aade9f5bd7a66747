import type { Database } from '../persistence/database.js'
import { platformProject } from '../persistence/project.repository.js'
import { ResourceRepository } from '../persistence/resource.repository.js'
import { ingressDefaults, ingressSpecSchema, type IngressSpec } from '../reconcile/ingress/spec.js'
import { upActor } from './demo.js'

/** The ingress of this machine as `up` needs it: whom to nudge, and where it listens. */
export interface LocalIngress {
  id: string
  kind: 'ingress'
  project: string
  name: string
  httpPort: number
  httpsPort: number
  paused: boolean
}

const ingressName = 'ingress'

/**
 * Makes sure that this machine has an ingress. `choosePorts` is asked only when there is none yet: once it has ports it
 * keeps them, because clients know them.
 */
export async function ensureIngress(
  db: Database,
  asked: { httpPort: number | undefined; httpsPort: number | undefined },
  choosePorts: () => Promise<{ httpPort: number; httpsPort: number }>,
): Promise<LocalIngress> {
  const resources = new ResourceRepository(db)
  const context = { actor: upActor, ability: 'admin', operation: 'ensureIngress', now: new Date() }
  const found = await db.resource.findFirst({
    where: { kind: 'ingress', projectId: platformProject.id, deletionRequestedAt: null },
    orderBy: { createdAt: 'asc' },
  })
  if (!found) {
    const made = await resources.create(
      { kind: 'ingress', projectId: platformProject.id, name: ingressName, spec: await choosePorts() },
      context,
    )
    if (made.outcome !== 'created') throw new Error(`the ingress could not be made: ${made.outcome}`)
    return ingressOf(made.resource.id, ingressName, ingressSpecSchema.parse(made.resource.spec), false)
  }
  const spec = { ...ingressSpecSchema.parse(found.spec), ...givenOnly(asked) }
  const kept = await resources.patch({ id: found.id, kind: 'ingress' }, null, () => ({ spec }), context)
  return ingressOf(found.id, found.name, spec, 'resource' in kept && kept.resource.paused)
}

/** Ports that somebody set in the environment are a wish like any other. */
function givenOnly({
  httpPort,
  httpsPort,
}: {
  httpPort: number | undefined
  httpsPort: number | undefined
}): Partial<IngressSpec> {
  return { ...(httpPort === undefined ? {} : { httpPort }), ...(httpsPort === undefined ? {} : { httpsPort }) }
}

function ingressOf(id: string, name: string, spec: IngressSpec, paused: boolean): LocalIngress {
  const { httpPort = ingressDefaults.httpPort, httpsPort = ingressDefaults.httpsPort } = spec
  return { id, kind: 'ingress', project: platformProject.name, name, httpPort, httpsPort, paused }
}
