import type { Action, ContainerSpecGiven } from '../action.js'
import { awayPollMs } from '../away-poll.js'
import { ready, type ConditionDraft } from '../condition.js'
import type { Controller, Plan, PlanInput, ResourceView } from '../controller.js'
import { shortHash } from '../hash.js'
import { containerName, label } from '../labels.js'
import { withTag } from '../name.js'
import type { NodeObservation, ObservedContainer, ObserveRequest } from '../observed.js'
import { pullKey } from '../pull-key.js'
import { nginxdemoDefaultImage, type NginxdemoDesired, type NginxdemoSpec } from './spec.js'

/** The smallest kind: keeps one container running. It writes no records, so a plan is all there is. */
export const nginxdemoController: Controller<NginxdemoDesired, never> = {
  kind: 'nginxdemo',
  observeRequests,
  plan: planNginxdemo,
  applyRecord: (desired) => desired,
}

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
  const actions = actionsOf(input, node)
  return {
    ...plan,
    actions,
    conditions: [readiness(input, node, actions)],
    finalize: input.resource.deleting && node.containers.length === 0 && input.inFlight.length === 0,
  }
}

function actionsOf(input: PlanInput<NginxdemoDesired>, node: NodeObservation): Action[] {
  const { resource, desired } = input
  const wanted = resource.deleting ? null : demoContainer(input)
  const current = node.containers.find((c) => wanted !== null && isCurrent(c, wanted))
  const retires = node.containers
    .filter((c) => c !== current)
    .map((c) => retire(c, desired.node))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
  if (wanted === null || current?.state === 'running' || current?.state === 'restarting') return retires
  // The old one serves on until its successor can be made.
  if (!current && node.images[imageOf(desired.spec)] === null) return [pull(desired)]
  // Two containers cannot hold the port at once: the old one goes first.
  if (retires.length > 0) return retires
  return [ensure(wanted, desired.node)]
}

function isCurrent(container: ObservedContainer, wanted: ContainerSpecGiven): boolean {
  return container.name === wanted.name && container.specHash === wanted.labels[label.specHash]
}

function demoContainer({ instance, resource, desired }: PlanInput<NginxdemoDesired>): ContainerSpecGiven {
  const image = imageOf(desired.spec)
  return {
    name: containerName(instance, resource.id, 0, 0),
    image,
    labels: {
      [label.instance]: instance,
      [label.kind]: resource.kind,
      [label.resource]: resource.id,
      [label.name]: resource.name,
      [label.project]: resource.project,
      [label.release]: '0',
      [label.replica]: '0',
      [label.specHash]: shortHash([image, desired.spec.hostPort]),
    },
    env: [],
    entrypoint: null,
    command: null,
    hostname: null,
    address: null,
    publishedPorts: [{ containerPort: 80, hostPort: desired.spec.hostPort, hostAddress: '127.0.0.1', protocol: 'tcp' }],
    restartPolicy: 'unless-stopped',
    stopGraceSeconds: 5,
    dnsSearch: [],
  }
}

function pull({ spec, node }: NginxdemoDesired): Action {
  const image = imageOf(spec)
  return {
    key: pullKey(node, image),
    verb: 'pullImage',
    args: { image },
    node,
    queue: 'long',
    container: null,
    timeoutSeconds: 1_800,
    supersedable: true,
    summary: `pull ${image}`,
  }
}

function ensure(container: ContainerSpecGiven, node: string): Action {
  return {
    key: 'ensure:0:0',
    verb: 'ensureContainer',
    args: { container, awaitReadyMs: 0 },
    node,
    queue: 'short',
    container: container.name,
    timeoutSeconds: 60,
    supersedable: false,
    summary: `start ${container.image}`,
  }
}

function retire(container: ObservedContainer, node: string): Action {
  return {
    key: `retire:${container.name}`,
    verb: 'retireContainer',
    args: { name: container.name, graceSeconds: 5 },
    node,
    queue: 'long',
    container: container.name,
    timeoutSeconds: 65,
    supersedable: false,
    summary: `stop ${container.name}`,
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
