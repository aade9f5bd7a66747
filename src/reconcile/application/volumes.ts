import type { Action } from '../action.js'
import type { ResourceView } from '../controller.js'
import { volumeName } from '../labels.js'
import type { ApplicationDesired, ApplicationRecord, Release } from './desired.js'
import type { World } from './world.js'

/** Where an application's volumes are, and what becomes of them when it moves or is deleted. */

/** Nodes that are looked at for nothing but volumes: what is left there holds up nobody, so only in time of rest. */
export function nodesAskedForVolumes(resource: ResourceView, desired: ApplicationDesired): string[] {
  if (resource.deleting) return desired.removesVolumes ? desired.volumesOn : []
  return desired.endpoints.every((e) => e.state === 'ready') ? nodesLeftBehind(desired) : []
}

/** Nodes that have nothing of it any more but, perhaps, volumes. */
export function nodesLeftBehind({ node, endpoints, publishedOn, volumesOn }: ApplicationDesired): string[] {
  return volumesOn.filter((on) => on !== node && !publishedOn.includes(on) && !endpoints.some((e) => e.node === on))
}

/** Written before a container that mounts them is made there: from now on the node is asked when they are to go. */
export function volumesMade({ input, replicas, target, count }: World): ApplicationRecord[] {
  const { node, volumesOn } = input.desired
  const mounting = replicas.filter((r) => hasVolumes(r.release)).map((r) => r.endpoint.node)
  if (hasVolumes(target) && count > 0 && node !== '') mounting.push(node)
  return [...new Set(mounting)].filter((on) => !volumesOn.includes(on)).map((on) => ({ type: 'volumesMade', node: on }))
}

/** A person removed what had stayed behind. */
export function volumesGone({ leftBehind }: World): ApplicationRecord[] {
  return leftBehind.filter((n) => n.volumes?.length === 0).map(({ node }) => ({ type: 'volumesGone', node }))
}

function hasVolumes(release: Release | undefined): boolean {
  return Boolean(release?.template.volumes?.length)
}

/** Only when nothing of it is there that could mount them, or is about to be. */
export function removesVolumes({ input, nodes }: World): Action[] {
  const { resource, desired, inFlight } = input
  if (!resource.deleting || !desired.removesVolumes || inFlight.some((a) => a.container !== null)) return []
  return nodes
    .filter((n) => n.containers.length === 0)
    .flatMap(({ node, volumes = [] }) => volumes.map((name) => ({ node, name })))
    .map(({ node, name }) => ({
      key: `volume:${node}:${name}`,
      verb: 'removeVolume',
      args: { name },
      node,
      queue: 'short',
      container: null,
      timeoutSeconds: 60,
      // A person may take the wish back.
      supersedable: true,
      summary: `remove volume ${ownName(input, name)} and what it holds`,
    }))
}

/** No volume is to go, or none is left on any node: also of those that were not asked, because the wish is newer. */
export function volumesAreAsWanted({ input, nodes }: World): boolean {
  const { removesVolumes: go, volumesOn } = input.desired
  return !go || (nodes.every((n) => n.volumes?.length === 0) && volumesOn.every((on) => nodes.some((n) => n.node === on)))
}

/** What a person has to know of them while the application is being deleted; '' = there are none. */
export function deletedVolumesMessage({ input, nodes }: World): string {
  const { removesVolumes: go, volumesOn } = input.desired
  const mute = nodes.filter((n) => n.volumes === undefined).map((n) => n.node)
  if (go && mute.length > 0)
    return `; the agent of node ${mute.join(', ')} is too old to remove volumes: upgrade it, or keep them by applicationDelete(removeVolumes: false)`
  const there = nodes.flatMap(({ node, volumes = [] }) => volumes.map((name) => ({ node, name })))
  if (go) return there.length === 0 ? '' : `; then its volumes: ${there.map((v) => ownName(input, v.name)).join(', ')}`
  const unseen = volumesOn.filter((on) => !nodes.some((n) => n.node === on))
  const stay = [...there.map((v) => `${v.name} on node ${v.node}`), ...unseen.map((on) => `what it has on node ${on}`)]
  return stay.length === 0 ? '' : `; its volumes stay: ${stay.join(', ')}`
}

/** What a person has to know when it is placed away from its data; null = nothing. */
export function leftBehindMessage({ input }: World): string | null {
  const { spec, node, volumesOn } = input.desired
  const names = (spec.volumes ?? []).map((v) => v.name)
  const old = volumesOn.filter((on) => on !== node)
  if (names.length === 0 || old.length === 0 || node === '') return null
  const where = old.join(', ')
  return (
    `what is in ${names.join(', ')} stays on node ${where} and does not follow it to node ${node}, which has volumes of its own: ` +
    `suspend it, copy from ${names.map((name) => volumeName(input.instance, input.resource.id, name)).join(', ')} there to the ones here, ` +
    `resume it and remove the old ones; or place it on node ${where} again`
  )
}

function ownName({ instance, resource }: World['input'], name: string): string {
  const prefix = volumeName(instance, resource.id, '')
  return name.startsWith(prefix) ? name.slice(prefix.length) : name
}
