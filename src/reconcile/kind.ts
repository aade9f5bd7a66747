/** The kinds that exist today; a kind with a loop has a folder of its name beside this file. */
export const kinds = ['application', 'ingress', 'nginxdemo', 'node'] as const
export type Kind = (typeof kinds)[number]

/** Kinds that have a controller, and so a workflow per resource. Nodes get theirs with node health. */
export const reconciledKinds = ['application', 'ingress', 'nginxdemo'] as const satisfies Kind[]
export type ReconciledKind = (typeof reconciledKinds)[number]

export function isReconciledKind(kind: string): kind is ReconciledKind {
  return reconciledKinds.some((k) => k === kind)
}

/** Prefix of a resource's id: tells the kind from the id alone, in logs, labels and the Temporal UI. */
export const idPrefixByKind: Record<Kind, string> = {
  application: 'app',
  ingress: 'ing',
  nginxdemo: 'demo',
  node: 'node',
}

/** The kind that an id such as `app_k3v…` belongs to, or undefined for a foreign id. */
export function kindOfId(id: string): Kind | undefined {
  const [prefix, rest] = id.split('_', 2)
  if (!rest) return undefined
  return kinds.find((kind) => idPrefixByKind[kind] === prefix)
}

/** Id of the one workflow that owns a resource. */
export function workflowIdOf(kind: string, resourceId: string): string {
  return `${kind}:${resourceId}`
}

/** Temporal task queues of a node: `short` observes and acts briefly, `long` pulls, stops with grace, builds. */
export function nodeQueue(nodeId: string, queue: 'short' | 'long'): string {
  return queue === 'short' ? `node.${nodeId}` : `node.${nodeId}.long`
}

export const controlQueue = 'control'
