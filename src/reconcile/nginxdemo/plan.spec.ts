import { describe, expect, it } from 'vitest'
import { awayPollMs } from '../away-poll.js'
import type { PlanInput } from '../controller.js'
import { shortHash } from '../hash.js'
import { containerName } from '../labels.js'
import type { Observation, ObservedContainer } from '../observed.js'
import { epoch, failureOf, inFlightOf } from '../testing/application-world.js'
import { deepFreeze } from '../testing/deep-freeze.js'
import { pullKey } from '../pull-key.js'
import { nginxdemoController, planNginxdemo } from './plan.js'
import { nginxdemoReasons } from './conditions.js'
import { nginxdemoSpecSchema, type NginxdemoDesired, type NginxdemoSpec } from './spec.js'

const image = 'nginx:1.28-alpine'
const name = containerName('i1', 'demo_1', 0, 0)
const node = 'node_1'

interface Setup {
  spec?: NginxdemoSpec
  containers?: ObservedContainer[]
  imageId?: string | null
  deleting?: boolean
  observed?: Observation[]
  failures?: ReturnType<typeof failureOf>[]
  inFlight?: ReturnType<typeof inFlightOf>[]
}

const spec: NginxdemoSpec = { hostPort: 8090 }

function containerOf(change: Partial<ObservedContainer> = {}): ObservedContainer {
  return {
    id: `id-${change.name ?? name}`,
    name,
    release: 0,
    replica: 0,
    specHash: shortHash([image, 8090]),
    imageId: 'sha256:nginx',
    state: 'running',
    exitCode: null,
    oomKilled: false,
    startedAt: epoch,
    restartCount: 0,
    restartPolicy: 'unless-stopped',
    address: null,
    probe: { ready: null, message: '' },
    ...change,
  }
}

function inputOf(setup: Setup): PlanInput<NginxdemoDesired> {
  const wanted = setup.spec ?? spec
  return deepFreeze({
    instance: 'i1',
    resource: { id: 'demo_1', kind: 'nginxdemo', projectId: 'proj_1', project: 'demo', name: 'nginx', generation: 1, deleting: setup.deleting ?? false },
    desired: { spec: wanted, node },
    observed: setup.observed ?? [
      {
        node,
        unreachable: null,
        containers: setup.containers ?? [],
        images: { [wanted.image ?? image]: setup.imageId === undefined ? 'sha256:nginx' : setup.imageId },
        published: null,
        connections: {},
      },
    ],
    inFlight: setup.inFlight ?? [],
    settled: [],
    failures: new Map((setup.failures ?? []).map((f) => [f.key, f])),
    holds: new Set(),
    now: epoch,
    quiet: false,
  })
}

const newer = { ...spec, image: 'nginx:1.29-alpine' }

const rows: (Setup & { it: string; actions: string[]; ready: string; requeue?: number; finalize?: boolean })[] = [
  { it: 'nothing there -> started', actions: ['ensure:0:0'], ready: 'False Starting' },
  { it: 'no image -> pulled, not started', imageId: null, actions: [pullKey(node, image)], ready: 'False Pulling' },
  { it: 'running -> nothing', containers: [containerOf()], actions: [], ready: 'True Running' },
  { it: 'running though its image was removed -> nothing', containers: [containerOf()], imageId: null, actions: [], ready: 'True Running' },
  ...(['created', 'exited', 'paused', 'dead'] as const).map((state) => ({
    it: `${state} -> started in place, even without its image`,
    containers: [containerOf({ state })],
    imageId: null,
    actions: ['ensure:0:0'],
    ready: 'False Starting',
  })),
  { it: 'restarting by Docker -> left to Docker, and not Ready', containers: [containerOf({ state: 'restarting' })], actions: [], ready: 'False Starting' },
  { it: 'port changed -> the old one goes first, for both need a port', spec: { hostPort: 8091 }, containers: [containerOf()], actions: [`retire:${name}`], ready: 'False Replacing' },
  { it: 'image changed and not there -> pulled while the old one serves', spec: newer, containers: [containerOf()], imageId: null, actions: [pullKey(node, 'nginx:1.29-alpine')], ready: 'False Pulling' },
  { it: 'image changed and there -> the old one goes', spec: newer, containers: [containerOf()], actions: [`retire:${name}`], ready: 'False Replacing' },
  {
    it: 'image changed, cannot be had -> the old one stays, reason told',
    spec: newer,
    containers: [containerOf()],
    imageId: null,
    failures: [failureOf(pullKey(node, 'nginx:1.29-alpine'), { reason: 'ImageNotFound', retryable: false })],
    actions: [pullKey(node, 'nginx:1.29-alpine')],
    ready: 'False ImageNotFound',
  },
  { it: 'renamed by hand -> removed, then made again', containers: [containerOf({ name: 'mine' })], actions: ['retire:mine'], ready: 'False Replacing' },
  { it: 'a second container of ours -> removed beside the running one', containers: [containerOf(), containerOf({ name: 'b' }), containerOf({ name: 'a' })], actions: ['retire:a', 'retire:b'], ready: 'False Replacing' },
  { it: 'port taken by somebody else -> told', failures: [failureOf('ensure:0:0', { reason: 'PortTaken' })], actions: ['ensure:0:0'], ready: 'False PortTaken' },
  { it: 'an old failure, running now -> Ready', containers: [containerOf()], failures: [failureOf('ensure:0:0')], actions: [], ready: 'True Running' },
  { it: 'deleted -> removed, whatever its state', deleting: true, containers: [containerOf(), containerOf({ name: 'x', state: 'exited' })], actions: [`retire:${name}`, 'retire:x'], ready: 'False Deleting' },
  { it: 'deleted and gone -> finalized', deleting: true, actions: [], ready: 'False Deleting', finalize: true },
  { it: 'deleted, a pull in flight -> not finalized', deleting: true, inFlight: [inFlightOf('pull:x')], actions: [], ready: 'False Deleting' },
  ...(['AgentSilent', 'NodeAway', 'DockerUnreachable'] as const).map((unreachable) => ({
    it: `${unreachable} -> nothing is planned, also when deleted`,
    deleting: true,
    observed: [{ node, unreachable, message: '' }],
    actions: [],
    ready: unreachable === 'DockerUnreachable' ? 'Unknown DockerUnreachable' : 'Unknown NodeUnreachable',
    requeue: awayPollMs({ node, unreachable, message: '' }, 'demo_1'),
  })),
]

describe('planNginxdemo', () => {
  it.each(rows)('$it', ({ it: _, actions, ready, requeue, finalize, ...setup }) => {
    const plan = planNginxdemo(inputOf(setup))
    const [condition] = plan.conditions
    expect(plan.actions.map((a) => a.key)).toEqual(actions)
    expect(plan.conditions).toHaveLength(1)
    expect(`${condition?.status} ${condition?.reason}`).toBe(ready)
    expect(nginxdemoReasons.Ready).toContain(condition?.reason)
    expect({ requeue: plan.requeueAfterMs, finalize: plan.finalize }).toEqual({ requeue: requeue ?? null, finalize: finalize ?? false })
  })

  it('the container -> bound to the loopback address only', () => {
    const [action] = planNginxdemo(inputOf({})).actions
    expect(action).toMatchObject({
      verb: 'ensureContainer',
      args: { container: { name, publishedPorts: [{ containerPort: 80, hostPort: 8090, hostAddress: '127.0.0.1', protocol: 'tcp' }] } },
    })
  })
})

describe('nginxdemoController.observeRequests', () => {
  it('any spec -> its node and its image', () => {
    const { resource, desired } = inputOf({})
    expect(nginxdemoController.observeRequests(resource, desired)).toEqual([
      { node, kind: 'nginxdemo', resource: 'demo_1', images: [image], connectionsTo: [] },
    ])
  })
})

describe('nginxdemoSpecSchema', () => {
  it.each([{ hostPort: 0 }, { hostPort: 65536 }, {}, { hostPort: 80, image: 'NGINX' }, { hostPort: 80, more: 1 }])('%j -> refused', (bad) =>
    expect(nginxdemoSpecSchema.safeParse(bad).success).toBe(false),
  )
  it('a port -> accepted', () => expect(nginxdemoSpecSchema.parse(spec)).toEqual(spec))
})
