import type { ObservedContainer } from '../observed.js'
import { preDeployName } from '../labels.js'
import type { Dependency, Release } from './desired.js'
import type { World } from './world.js'

/** What has to be so before the target's replicas may start; and, where old and new cannot be side by side, before the old may stop. */

/** Applications that the target waits for. What has served once waits for nobody. */
export function waitsFor({ target, input }: World): Dependency[] {
  if (!target || target.servingAt !== null) return []
  return input.desired.dependencies.filter(({ ready }) => !ready?.current || ready.status !== 'True')
}

export function needsPreDeploy({ target }: World): boolean {
  return target?.template.preDeploy !== undefined && target.preDeployedAt === null && target.servingAt === null
}

/** The target's first replicas may be made. */
export function mayStart(world: World): boolean {
  return waitsFor(world).length === 0 && !needsPreDeploy(world)
}

/** The target is so ready to start that what serves may be stopped for it. */
export function mayStopForTarget(world: World): boolean {
  return mayStart(world) && typeof targetImage(world) === 'string'
}

/** Id of the target's image where it belongs; null = not there, undefined = not looked for yet. */
export function targetImage({ target, nodes, input }: World): string | null | undefined {
  return target && nodes.find((n) => n.node === input.desired.node)?.images[target.resolvedImage]
}

/** The container in which the release's pre-deploy command ran or runs. */
export function preDeployOf({ nodes, input }: World, release: Release): ObservedContainer | undefined {
  const name = preDeployName(input.instance, input.resource.id, release.number)
  return nodes.flatMap((n) => n.containers).find((c) => c.purpose === 'pre-deploy' && c.name === name && c.specHash === release.hash)
}
