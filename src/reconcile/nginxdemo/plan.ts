import type { Action, ContainerSpecGiven } from '../action.js'
import { awayPollMs } from '../away-poll.js'
import { ready, type ConditionDraft } from '../condition.js'
import type { Controller, Plan, PlanInput, ResourceView } from '../controller.js'
import { shortHash } from '../hash.js'
import { withTag } from '../name.js'
import type { NodeObservation, ObserveRequest } from '../observed.js'
import { identityOf, keepOne } from '../one-container.js'
import { nginxdemoDefaultImage, type NginxdemoDesired, type NginxdemoSpec } from './spec.js'

/** The smallest kind: keeps one container running. It writes no records, so a plan is all there is. */
export const nginxdemoController: Controller<NginxdemoDesired, never> = {
  kind: 'nginxdemo',
  observeRequests,
  plan: planNginxdemo,
  applyRecord: (desired) => desired,
}

const stopGraceSeconds = 5

const imageOf = (spec: NginxdemoSpec) => withTag(spec.image ?? nginxdemoDefaultImage)

function observeRequests(resource: ResourceView, { node, spec }: NginxdemoDesired): ObserveRequest[] {
  return [{ node, kind: resource.kind, resource: resource.id, images: [imageOf(spec)], connectionsTo: [] }]
}

export function planNginxdemo(input: PlanInput<NginxdemoDesired>): Plan<never> {
  const [node] = input.observed
  const plan: Plan<never> = { records: [], actions: [], conditions: [], requeueAfterMs: null, finalize: false }
  if (!node) return plan
  if (node.unreachable !== null) {
    const engine = node.unreachable === 'DockerUnreachable'
    return {
      ...plan,
      conditions: [ready('Unknown', engine ? 'DockerUnreachable' : 'NodeUnreachable', node.message)],
      requeueAfterMs: awayPollMs(node, input.resource.id),
    }
  }
  const { resource, desired } = input
  const wanted = resource.deleting ? null : demoContainer(input)
  const actions = keepOne({ node, wanted, image: imageOf(desired.spec), stopGraceSeconds })
  return {
    ...plan,
    actions,
    conditions: [readiness(input, node, actions)],
    finalize: resource.deleting && node.containers.length === 0 && input.inFlight.length === 0,
  }
}

function demoContainer({ instance, resource, desired }: PlanInput<NginxdemoDesired>): ContainerSpecGiven {
  const image = imageOf(desired.spec)
  return {
    ...identityOf(instance, resource, shortHash([image, desired.spec.hostPort])),
    image,
    env: [],
    entrypoint: null,
    command: null,
    hostname: null,
    address: null,
    publishedPorts: [{ containerPort: 80, hostPort: desired.spec.hostPort, hostAddress: '127.0.0.1', protocol: 'tcp' }],
    restartPolicy: 'unless-stopped',
    stopGraceSeconds,
    dnsSearch: [],
  }
}

function readiness(input: PlanInput<NginxdemoDesired>, node: NodeObservation, actions: Action[]): ConditionDraft {
  if (input.resource.deleting) return ready('False', 'Deleting', `${node.containers.length} containers are still to be removed`)
  const failure = actions.map((a) => input.failures.get(a.key)).find((f) => f !== undefined)
  if (failure) return ready('False', failure.reason, failure.message)
  const [next] = actions
  const port = input.desired.spec.hostPort
  const restarting = node.containers.some((c) => c.state === 'restarting')
  if (!next && restarting) return ready('False', 'Starting', 'nginx ended, and Docker is about to start it again')
  if (!next) return ready('True', 'Running', `nginx runs on 127.0.0.1:${port}`)
  if (next.verb === 'pullImage') return ready('False', 'Pulling', next.summary)
  return next.verb === 'retireContainer'
    ? ready('False', 'Replacing', next.summary)
    : ready('False', 'Starting', next.summary)
}
