/** Every container, network and volume of ours carries these. What lacks our instance's label is not ours. */
export const label = {
  instance: 'evenkeel.instance',
  kind: 'evenkeel.kind',
  resource: 'evenkeel.resource',
  name: 'evenkeel.name',
  project: 'evenkeel.project',
  release: 'evenkeel.release',
  replica: 'evenkeel.replica',
  specHash: 'evenkeel.spec-hash',
  /** JSON of the readiness probe: the prober rebuilds its whole state from it. */
  probe: 'evenkeel.probe',
  /** JSON of the liveness probe. */
  liveness: 'evenkeel.liveness',
  /** What a container is for that is no replica: `pre-deploy`. */
  purpose: 'evenkeel.purpose',
  /** Name that the resource's owner gave a volume. */
  volume: 'evenkeel.volume',
  /** Seconds of grace at stop, so that a late clean-up honours it without the database. */
  stopGrace: 'evenkeel.stop-grace',
  /** Which folders of the agent a container mounts: name=identity, separated by spaces. */
  stateFolders: 'evenkeel.state-folders',
  /** An image or container that is no official part but a local replacement of one. */
  standIn: 'evenkeel.stand-in',
} as const

/** People's own labels may not start with this. */
export const reservedLabelPrefix = 'evenkeel.'

/** Whose a container is. */
export interface Owner {
  instance: string
  kind: string
  resource: string
}

/**
 * The container name of one replica. A pure function of its identity, so that the name is the mutex:
 * two attempts at the same replica collide in Docker instead of making two containers.
 */
export function containerName(instance: string, resource: string, release: number, replica: number): string {
  return `ek-${instance}-${resource}-${release}-${replica}`
}

/** The container that runs a release's pre-deploy command: one a release, so that it runs once. */
export function preDeployName(instance: string, resource: string, release: number): string {
  return `ek-${instance}-${resource}-${release}-pre-deploy`
}

/** The engine's name of an application's volume. */
export function volumeName(instance: string, resource: string, volume: string): string {
  return `ek-${instance}-${resource}-${volume}`
}

/** True when `labels` say that the thing belongs to `owner`. */
export function belongsTo(labels: Record<string, string> | undefined, owner: Owner): boolean {
  return (
    labels?.[label.instance] === owner.instance &&
    labels[label.kind] === owner.kind &&
    labels[label.resource] === owner.resource
  )
}

/** Owner as written in a container's labels. */
export function ownerOf(spec: { labels: Record<string, string> }): Owner {
  return {
    instance: spec.labels[label.instance] ?? '',
    kind: spec.labels[label.kind] ?? '',
    resource: spec.labels[label.resource] ?? '',
  }
}
