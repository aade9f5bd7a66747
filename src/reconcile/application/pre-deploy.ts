import type { Action } from '../action.js'
import { preDeployName } from '../labels.js'
import { preDeployContainer } from './container.js'
import type { Release } from './desired.js'
import { needsPreDeploy, targetImage, waitsFor } from './preparation.js'
import { applicationDefaults } from './spec.js'
import type { World } from './world.js'

/** Beyond the command's own time: creating its container, and stopping it when it takes too long. */
const aroundSeconds = 60

export const preDeployKey = (release: Release) => `pre-deploy:${release.number}`

/** One at a time, also over releases: what an older release began is waited for, because nobody knows what it changes. */
export function preDeploys(world: World): Action[] {
  const { target, input } = world
  if (!target || !needsPreDeploy(world) || world.frozen || world.count === 0 || input.quiet) return []
  if (waitsFor(world).length > 0 || typeof targetImage(world) !== 'string') return []
  const key = preDeployKey(target)
  if (input.inFlight.some((a) => a.verb === 'runToEnd' && a.key !== key)) return []
  return [
    {
      key,
      verb: 'runToEnd',
      args: { container: preDeployContainer(world, target) },
      node: input.desired.node,
      queue: 'long',
      container: preDeployName(input.instance, input.resource.id, target.number),
      timeoutSeconds: (target.template.preDeploy?.timeoutSeconds ?? applicationDefaults.preDeployTimeoutSeconds) + aroundSeconds,
      supersedable: false,
      summary: `run the pre-deploy command of release ${target.number}`,
    },
  ]
}
