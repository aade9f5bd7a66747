import type { Database } from '../persistence/database.js'
import { platformProject } from '../persistence/project.repository.js'
import { ResourceRepository, type ResourceRow } from '../persistence/resource.repository.js'
import { ingressDefaults, ingressSpecSchema, type IngressSpec } from '../reconcile/ingress/spec.js'
import { upActor } from './demo.js'

/** Where it listens. */
export interface IngressPorts {
  httpPort: number
  httpsPort: number
}

/** The ingress as `up` needs it: whom to nudge, and where it answers. */
export interface LocalIngress extends IngressPorts {
  id: string
  kind: 'ingress'
  project: string
  name: string
  /** A person or a restore stopped its loop: it is as it is. */
  paused: boolean
}

const ingressName = 'ingress'

/**
 * Makes sure that the local node has an ingress. Whatever there is already is somebody's wish and stays as it is, also
 * under another name or in another project; null = its name belongs to something else, and the node has none. The ports
 * are chosen once, when it is made: clients know them.
 */
export async function ensureIngress(db: Database, node: string, choosePorts: () => Promise<IngressPorts>): Promise<LocalIngress | null> {
  const present = await ingressOfNode(db, node)
  if (present) return present
  const spec: IngressSpec = ingressSpecSchema.parse({ node, ...(await choosePorts()) })
  const context = { actor: upActor, ability: 'admin', operation: 'ensureIngress', now: new Date() }
  const resources = new ResourceRepository(db)
  const draft = { kind: 'ingress', projectId: platformProject.id, name: ingressName, spec } as const
  const made = await resources.create(draft, context)
  if (made.outcome === 'created') return localIngress(made.resource, platformProject.name)
  return made.outcome === 'nameTaken' ? ingressOfNode(db, node) : null
}

async function ingressOfNode(db: Database, node: string): Promise<LocalIngress | null> {
  const [row] = await db.$queryRaw<(ResourceRow & { project: string })[]>`
    SELECT r.*, p.name AS project FROM "Resource" r JOIN "Project" p ON p.id = r."projectId"
    WHERE r.kind = 'ingress' AND r."deletionRequestedAt" IS NULL AND coalesce(r.spec ->> 'node', ${node}) = ${node} ORDER BY r.id LIMIT 1`
  return row ? localIngress(row, row.project) : null
}

function localIngress({ id, name, spec, paused }: ResourceRow, project: string): LocalIngress {
  const { httpPort = ingressDefaults.httpPort, httpsPort = ingressDefaults.httpsPort } = ingressSpecSchema.parse(spec)
  return { id, kind: 'ingress', project, name, httpPort, httpsPort, paused }
}
