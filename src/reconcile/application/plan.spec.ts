import { describe, expect, it } from 'vitest'
import type { Settled } from '../action.js'
import { awayPollMs } from '../away-poll.js'
import { containerName } from '../labels.js'
import type { NodeObservation, UnreachableNode } from '../observed.js'
import { pullKey } from '../pull-key.js'
import {
  addressOf,
  containerOf,
  digestOf,
  endpointOf,
  epoch,
  exited,
  failureOf,
  fresh,
  inFlightOf,
  inputOf,
  instance,
  nodeId,
  releaseOf,
  resourceId,
  settledSetup,
  showing,
  specOf,
  type Setup,
} from '../testing/application-world.js'
import { actionOf, passOf } from '../testing/pass.js'
import { publicationOf, revisionOf } from './publication.js'
import { planApplication } from './plan.js'
import type { ApplicationSpec } from './spec.js'
import { worldOf } from './world.js'

const v1 = specOf()
const v2 = specOf({ image: 'shop/web:2' })
const v3 = specOf({ image: 'shop/web:3' })
const name = (release: number, replica: number) => containerName(instance, resourceId, release, replica)
const retireOf = (release: number, replica: number) => `retire:${name(release, replica)}`
const resolve1 = `resolve:${nodeId}:shop/web:1`
const resolve2 = `resolve:${nodeId}:shop/web:2`
const image1 = digestOf('shop/web:1')
const image2 = digestOf('shop/web:2')
const publish = `publish:${nodeId}`
const served = { servingAt: epoch - 50_000 }
const failed = (reason = 'ContainerExited') => ({ verdict: { reason, message: 'it ended' } })

const resolvedTo = (image: string): Settled => ({
  key: `resolve:${nodeId}:${image}`,
  verb: 'resolveImage',
  ok: true,
  result: { resolved: digestOf(image), from: 'registry', note: '' },
  generation: 1,
})

const keptLog = (sha256: string | null): Settled => ({ key: 'log:1', verb: 'keepLog', ok: true, result: { sha256 }, generation: 1 })

/** An empty node that was asked what `image` means, and has it. */
const seenResolved = (image: string): NodeObservation => ({
  node: nodeId,
  unreachable: null,
  containers: [],
  images: { [digestOf(image)]: 'sha256:abc' },
  published: null,
  connections: {},
  resolved: { image, resolved: digestOf(image), from: 'registry', note: '' },
})

const away = (unreachable: UnreachableNode['unreachable']): UnreachableNode => ({ node: nodeId, unreachable, message: 'gone quiet' })

/** `release 1` serves with `replicas`; `release 2` is wanted and was just written down. */
function changing(replicas: number, extra: { spec?: Partial<ApplicationSpec>; release2?: object } = {}) {
  const old = settledSetup({ ...v1, replicas })
  const spec = { ...v2, replicas, ...extra.spec }
  return { ...old, spec, releases: [...old.releases, releaseOf(2, spec, extra.release2)] }
}

interface Row extends Setup {
  it: string
  records?: string[]
  actions: string[]
  ready?: string
  available?: string
  requeue?: number | null
}

const [r1] = settledSetup(v1).releases as [ReturnType<typeof releaseOf>]
const one = settledSetup(v1)
const two = settledSetup({ ...v1, replicas: 2 })
const rolling = changing(1)
const r2 = rolling.releases[1] as ReturnType<typeof releaseOf>
const starting2 = { ...rolling, endpoints: [...rolling.endpoints, endpointOf(2, 0, 'starting')] }

const tables: Record<string, Row[]> = {
  'first deploy': [
    { it: 'nothing there -> resolve', actions: [resolve1], ready: 'False Resolving', available: 'False NoReplicaReady' },
    {
      it: 'resolve failed for now -> same wish, reason of the failure',
      failures: [failureOf(resolve1, { reason: 'RegistryUnreachable' })],
      actions: [resolve1],
      ready: 'False RegistryUnreachable',
    },
    {
      it: 'resolve failed for good -> reason told, no release',
      failures: [failureOf(resolve1, { reason: 'ImageNotFound', retryable: false })],
      actions: [resolve1],
      ready: 'False ImageNotFound',
    },
    {
      it: 'resolved -> release and endpoint are written, container is made',
      settled: [resolvedTo('shop/web:1')],
      records: ['release 1', 'endpoint 1/0'],
      actions: ['ensure:1:0'],
      ready: 'False RollingOut',
    },
    {
      it: 'resolved, image missing -> pull and no container',
      settled: [resolvedTo('shop/web:1')],
      releases: [],
      observed: [{ node: nodeId, unreachable: null, containers: [], images: { [image1]: null }, published: null, connections: {} }],
      records: ['release 1', 'endpoint 1/0'],
      actions: [pullKey(nodeId, image1)],
    },
    {
      it: 'resolved along the way -> release and endpoint are written, container is made',
      observed: [seenResolved('shop/web:1')],
      records: ['release 1', 'endpoint 1/0'],
      actions: ['ensure:1:0'],
    },
    {
      it: 'another image was resolved along the way -> resolve',
      observed: [seenResolved('shop/web:0')],
      actions: [resolve1],
    },
    {
      it: 'outcome of another node -> resolve here, for an image id means nothing elsewhere',
      settled: [{ ...resolvedTo('shop/web:1'), key: 'resolve:node_2:shop/web:1' }],
      actions: [resolve1],
    },
    {
      it: 'another node resolves, and failed before -> resolved here',
      inFlight: [inFlightOf('resolve:node_2:shop/web:1', { verb: 'resolveImage', supersedable: true })],
      failures: [failureOf('resolve:node_2:shop/web:1', { reason: 'ImageNotFound', retryable: false })],
      actions: [resolve1],
      ready: 'False Resolving',
    },
    {
      it: 'outcome of another image -> resolve again',
      settled: [resolvedTo('shop/web:0')],
      actions: [resolve1],
    },
    {
      it: 'created, never started -> started',
      releases: [releaseOf(1, v1)],
      endpoints: [endpointOf(1, 0, 'starting')],
      containers: [containerOf(r1, 0, { state: 'created', startedAt: null, probe: { ready: null, message: '' }, restartPolicy: 'no' })],
      actions: ['ensure:1:0'],
    },
    {
      it: 'running, not ready -> waits for the rest of its budget',
      releases: [releaseOf(1, v1)],
      endpoints: [endpointOf(1, 0, 'starting')],
      containers: [containerOf(r1, 0, fresh())],
      actions: [],
      ready: 'False RollingOut',
      requeue: 59_000,
    },
    {
      it: 'ready -> serving, published, restarted by Docker from now on',
      releases: [releaseOf(1, v1)],
      endpoints: [endpointOf(1, 0, 'starting')],
      containers: [containerOf(r1, 0, { restartPolicy: 'no' })],
      records: ['ready 1/0', 'serving 1'],
      actions: [publish, 'policy:1:0'],
      ready: 'False RollingOut',
      available: 'True ReplicasReady',
    },
    { it: 'converged -> nothing', ...one, actions: [], ready: 'True Running', available: 'True ReplicasReady', requeue: null },
    { it: 'five replicas converged -> nothing', ...settledSetup({ ...v1, replicas: 5 }), actions: [], ready: 'True Running' },
    {
      it: 'no ports, no probe, just started -> not ready before it has run for a second',
      spec: specOf({ ports: undefined }),
      releases: [releaseOf(1, specOf({ ports: undefined }))],
      endpoints: [endpointOf(1, 0, 'starting')],
      containers: [containerOf(releaseOf(1, specOf({ ports: undefined })), 0, fresh({ startedAt: epoch - 400, probe: { ready: null, message: '' } }))],
      actions: [],
      requeue: 600,
    },
    {
      it: 'no ports, no probe, ran for a second -> ready',
      spec: specOf({ ports: undefined }),
      releases: [releaseOf(1, specOf({ ports: undefined }))],
      endpoints: [endpointOf(1, 0, 'starting')],
      containers: [containerOf(releaseOf(1, specOf({ ports: undefined })), 0, fresh({ startedAt: epoch - 1_000, probe: { ready: null, message: '' } }))],
      records: ['ready 1/0', 'serving 1'],
      actions: [publish, 'policy:1:0'],
    },
  ],

  'a release that cannot run': [
    {
      it: 'exited before ready -> verdict, container goes, nothing is tried again',
      releases: [releaseOf(1, v1)],
      endpoints: [endpointOf(1, 0, 'starting')],
      containers: [containerOf(r1, 0, exited(1))],
      records: ['verdict 1 ContainerExited', 'draining 1/0'],
      actions: ['log:1'],
      ready: 'False ContainerExited',
    },
    {
      it: 'exited with 0 before ready -> verdict too',
      releases: [releaseOf(1, v1)],
      endpoints: [endpointOf(1, 0, 'starting')],
      containers: [containerOf(r1, 0, exited(0))],
      records: ['verdict 1 ContainerExited', 'draining 1/0'],
      actions: ['log:1'],
    },
    ...[126, 127].map((code) => ({
      it: `exit code ${code} -> CommandNotFound`,
      releases: [releaseOf(1, v1)],
      endpoints: [endpointOf(1, 0, 'starting' as const)],
      containers: [containerOf(r1, 0, exited(code))],
      records: ['verdict 1 CommandNotFound', 'draining 1/0'],
      actions: ['log:1'],
      ready: 'False CommandNotFound',
    })),
    {
      it: 'killed for memory -> OOMKilled, not exit code 137',
      releases: [releaseOf(1, v1)],
      endpoints: [endpointOf(1, 0, 'starting')],
      containers: [containerOf(r1, 0, exited(137, { oomKilled: true }))],
      records: ['verdict 1 OOMKilled', 'draining 1/0'],
      actions: ['log:1'],
      ready: 'False OOMKilled',
    },
    {
      it: 'exit seen while its action still runs -> no verdict yet',
      releases: [releaseOf(1, v1)],
      endpoints: [endpointOf(1, 0, 'starting')],
      containers: [containerOf(r1, 0, exited(1))],
      inFlight: [inFlightOf('ensure:1:0', { container: name(1, 0) })],
      actions: ['ensure:1:0'],
    },
    {
      it: 'not ready at the end of its budget -> ReadinessTimeout',
      ...starting2,
      containers: [...rolling.containers, containerOf(r2, 0, fresh({ startedAt: epoch - 60_000 }))],
      records: ['verdict 2 ReadinessTimeout', 'draining 2/0'],
      actions: ['log:2'],
      ready: 'False ReadinessTimeout',
      available: 'True ReplicasReady',
    },
    {
      it: 'one millisecond before the end of its budget -> waits',
      ...starting2,
      containers: [...rolling.containers, containerOf(r2, 0, fresh({ startedAt: epoch - 59_999 }))],
      actions: [],
      requeue: 50,
    },
    {
      it: 'its own budget of 300 s -> waits for that',
      ...starting2,
      spec: { ...v2, startupBudgetSeconds: 300 },
      containers: [...rolling.containers, containerOf(r2, 0, fresh({ startedAt: epoch - 60_000 }))],
      actions: [],
      requeue: 240_000,
    },
    {
      it: 'budget over but the prober has not looked (agent restarted) -> no verdict, no polling',
      ...starting2,
      containers: [...rolling.containers, containerOf(r2, 0, fresh({ startedAt: epoch - 90_000, probe: { ready: null, message: '' } }))],
      actions: [],
      requeue: null,
    },
    {
      it: 'a replica that was ready once crashes again and again before all were -> CrashLoop',
      ...changing(2),
      endpoints: [...two.endpoints, endpointOf(2, 0, 'starting', { readyAt: epoch - 9_000 })],
      containers: [...two.containers, containerOf(r2, 0, exited(1, { state: 'restarting', restartCount: 5, specHash: changing(2).releases[1]?.hash ?? '' }))],
      published: 'live',
      records: ['verdict 2 CrashLoop', 'draining 2/0', 'unrouted 2/0'],
      actions: ['log:2'],
      ready: 'False CrashLoop',
    },
    {
      it: 'pull failed for now -> waits, the old one serves, reason told',
      ...starting2,
      missingImages: [image2],
      failures: [failureOf(pullKey(nodeId, image2), { reason: 'RegistryUnreachable' })],
      actions: [pullKey(nodeId, image2)],
      ready: 'False RegistryUnreachable',
      available: 'True ReplicasReady',
    },
    {
      it: 'pull failed for good -> verdict, the old one serves',
      ...starting2,
      missingImages: [image2],
      failures: [failureOf(pullKey(nodeId, image2), { reason: 'ImageNotFound', retryable: false })],
      records: ['verdict 2 ImageNotFound', 'draining 2/0', 'gone 2/0'],
      actions: [],
      ready: 'False ImageNotFound',
      available: 'True ReplicasReady',
    },
    {
      it: 'pull of another release failed for good -> no verdict on this one',
      ...starting2,
      missingImages: [image2],
      failures: [failureOf(pullKey(nodeId, image1), { reason: 'ImageNotFound', retryable: false })],
      actions: [pullKey(nodeId, image2)],
    },
    {
      it: 'its pull failed for good on another node -> no verdict, pulled here',
      ...starting2,
      missingImages: [image2],
      failures: [failureOf(pullKey('node_2', image2), { reason: 'ImageNotFound', retryable: false })],
      actions: [pullKey(nodeId, image2)],
      ready: 'False RollingOut',
    },
    {
      it: 'start failed for good (command not found) -> verdict, the old one serves',
      ...starting2,
      failures: [failureOf('ensure:2:0', { reason: 'CommandNotFound', retryable: false })],
      records: ['verdict 2 CommandNotFound', 'draining 2/0', 'gone 2/0'],
      actions: [],
      ready: 'False CommandNotFound',
      available: 'True ReplicasReady',
    },
    {
      it: 'start of release 21 failed for good -> no verdict on release 2',
      ...starting2,
      failures: [failureOf('ensure:21:0', { retryable: false })],
      actions: ['ensure:2:0'],
    },
    {
      it: 'start failed for now -> reason and next try are told',
      ...starting2,
      failures: [failureOf('ensure:2:0', { reason: 'DiskFull', count: 3 })],
      actions: ['ensure:2:0'],
      ready: 'False DiskFull',
    },
    {
      it: 'a foreign container has its name, in the tenth try -> no verdict, tried again',
      ...starting2,
      failures: [failureOf('ensure:2:0', { reason: 'NameTaken', count: 10 })],
      actions: ['ensure:2:0'],
      ready: 'False NameTaken',
      available: 'True ReplicasReady',
    },
    {
      it: 'given up, its last words are kept -> written down, then the container goes',
      releases: [releaseOf(1, v1, failed())],
      endpoints: [endpointOf(1, 0, 'draining', { readyAt: null })],
      containers: [containerOf(r1, 0, exited(1))],
      settled: [keptLog('abc')],
      records: ['log 1 abc'],
      actions: [retireOf(1, 0)],
    },
    {
      it: 'given up, it said nothing -> that is written down too',
      releases: [releaseOf(1, v1, failed())],
      endpoints: [endpointOf(1, 0, 'draining', { readyAt: null })],
      containers: [containerOf(r1, 0, exited(1))],
      settled: [keptLog(null)],
      records: ['log 1 '],
      actions: [retireOf(1, 0)],
    },
    {
      it: 'given up, its last words cannot be had -> the container goes all the same',
      releases: [releaseOf(1, v1, failed())],
      endpoints: [endpointOf(1, 0, 'draining', { readyAt: null })],
      containers: [containerOf(r1, 0, exited(1))],
      failures: [failureOf('log:1')],
      actions: [retireOf(1, 0)],
    },
    {
      it: 'given up, same generation -> nothing tries it again',
      ...one,
      spec: v2,
      releases: [...one.releases, releaseOf(2, v2, failed())],
      actions: [],
      ready: 'False ContainerExited',
      available: 'True ReplicasReady',
      requeue: null,
    },
    {
      it: 'given up, new generation -> resolved again',
      ...one,
      spec: v2,
      releases: [...one.releases, releaseOf(2, v2, failed())],
      generation: 3,
      actions: [resolve2],
      ready: 'False Resolving',
    },
    {
      it: 'given up, new generation, resolved -> a new release of the same template',
      ...one,
      spec: v2,
      releases: [...one.releases, releaseOf(2, v2, failed())],
      generation: 3,
      settled: [resolvedTo('shop/web:2')],
      records: ['release 3', 'endpoint 3/0'],
      actions: ['ensure:3:0'],
    },
    {
      it: 'given up half-way through -> the old set is completed before ready ones of the new set leave',
      ...two,
      spec: { ...v2, replicas: 2 },
      releases: [...two.releases, releaseOf(2, v2, failed())],
      endpoints: [endpointOf(1, 1, 'ready'), endpointOf(2, 0, 'ready')],
      containers: [containerOf(two.releases[0] as typeof r1, 1), containerOf(releaseOf(2, v2), 0)],
      records: ['endpoint 1/0'],
      actions: ['ensure:1:0'],
      available: 'True ReplicasReady',
    },
    {
      it: 'first release half ready, then given up -> what serves stays, what never did goes',
      spec: { ...v1, replicas: 2 },
      releases: [releaseOf(1, v1, failed())],
      endpoints: [endpointOf(1, 0, 'ready'), endpointOf(1, 1, 'starting')],
      containers: [containerOf(r1, 0), containerOf(r1, 1, exited(1))],
      published: 'live',
      records: ['draining 1/1'],
      actions: ['log:1'],
      ready: 'False ContainerExited',
      available: 'True ReplicasReady',
    },
  ],

  repair: [
    {
      it: 'crashed after ready -> unpublished and started in place, not made again',
      ...one,
      containers: [containerOf(r1, 0, exited(1))],
      records: ['starting 1/0'],
      actions: [publish, 'ensure:1:0'],
      ready: 'False RollingOut',
      available: 'False NoReplicaReady',
    },
    {
      it: 'crashed and its image is gone -> started in place without a pull',
      ...one,
      missingImages: [image1],
      containers: [containerOf(r1, 0, exited(1))],
      records: ['starting 1/0'],
      actions: [publish, 'ensure:1:0'],
    },
    {
      it: 'removed by hand -> made again with the same address',
      ...one,
      containers: [],
      records: ['starting 1/0'],
      actions: [publish, 'ensure:1:0'],
    },
    {
      it: 'removed by hand and its image too -> pulled first',
      ...one,
      containers: [],
      missingImages: [image1],
      records: ['starting 1/0'],
      actions: [publish, pullKey(nodeId, image1)],
    },
    {
      it: 'paused -> started (Docker unpauses)',
      ...one,
      containers: [containerOf(r1, 0, { state: 'paused' })],
      records: ['starting 1/0'],
      actions: [publish, 'ensure:1:0'],
    },
    {
      it: 'an action failed whose effect is there all the same (answer lost) -> Ready',
      ...one,
      failures: [failureOf('ensure:1:0', { reason: 'ActionTimeout' })],
      actions: [],
      ready: 'True Running',
    },
    {
      it: 'a publication failed, and what should be shown is -> Ready, and published once more, for the failed one may still come',
      ...one,
      failures: [failureOf(publish, { reason: 'ActionTimeout' })],
      actions: [publish],
      ready: 'True Running',
    },
    {
      it: 'a publication of the generation before failed -> the same',
      ...one,
      settled: [{ key: publish, verb: 'publishEndpoints', ok: false, reason: 'ActionTimeout', message: '', retryable: true, cancelled: false, generation: 1 }],
      generation: 2,
      actions: [publish],
      ready: 'True Running',
    },
    {
      it: 'a failed publication that may still come -> what drains is not taken for unrouted',
      ...changing(1, { release2: served }),
      endpoints: [endpointOf(1, 0, 'draining'), endpointOf(2, 0, 'ready')],
      containers: [containerOf(r1, 0), containerOf(r2, 0)],
      published: 'live',
      failures: [failureOf(publish, { reason: 'ActionTimeout', generation: 2 })],
      actions: [publish],
      requeue: null,
    },
    {
      it: 'restarting by Docker itself -> left to Docker',
      ...one,
      containers: [containerOf(r1, 0, { state: 'restarting', probe: { ready: null, message: '' } })],
      records: ['starting 1/0'],
      actions: [publish],
      requeue: null,
    },
    {
      it: 'unready for an hour though once ready -> unpublished, no polling, no verdict',
      ...one,
      endpoints: [endpointOf(1, 0, 'starting', { readyAt: epoch - 3_600_000 })],
      containers: [containerOf(r1, 0, { startedAt: epoch - 3_600_000, probe: { ready: false, message: '503' } })],
      actions: [],
      ready: 'False RollingOut',
      available: 'False NoReplicaReady',
      requeue: null,
    },
    {
      it: 'prober knows nothing yet (agent restarted) and it was ready -> stays ready',
      ...one,
      containers: [containerOf(r1, 0, { probe: { ready: null, message: '' } })],
      actions: [],
      ready: 'True Running',
    },
    {
      it: 'renamed by hand -> unpublished first; not made again while the renamed one holds its address',
      ...one,
      containers: [containerOf(r1, 0, { name: 'db-of-frank' })],
      records: ['starting 1/0'],
      actions: [publish],
    },
    {
      it: 'renamed by hand and unpublished -> removed',
      ...one,
      published: revisionOf({ names: ['web.shop.internal'], addresses: [], port: 8080 }),
      endpoints: [endpointOf(1, 0, 'starting', { readyAt: epoch - 9_000 })],
      containers: [containerOf(r1, 0, { name: 'db-of-frank' })],
      actions: ['retire:db-of-frank'],
    },
    {
      it: 'our name with another spec hash -> unpublished and removed; made again when the name is free',
      ...one,
      containers: [containerOf(r1, 0, { specHash: 'beef', state: 'exited' })],
      records: ['starting 1/0'],
      actions: [publish, retireOf(1, 0)],
    },
    {
      it: 'a container with our labels and no endpoint -> removed, the rest untouched',
      ...one,
      containers: [...one.containers, containerOf(r1, 7)],
      actions: [retireOf(1, 7)],
      ready: 'True Running',
    },
    {
      it: 'a replica at another address than its own -> unpublished and removed; made again when the name is free',
      ...one,
      containers: [containerOf(r1, 0, { address: '10.90.9.9' })],
      records: ['starting 1/0'],
      actions: [publish, retireOf(1, 0)],
    },
    {
      it: 'Docker would not restart it though its release has served -> policy widened before it is started',
      ...two,
      endpoints: [endpointOf(1, 0, 'ready'), endpointOf(1, 1, 'starting')],
      containers: [containerOf(two.releases[0] as typeof r1, 0), containerOf(two.releases[0] as typeof r1, 1, exited(1, { restartPolicy: 'no' }))],
      published: revisionOf({ names: ['web.shop.internal'], addresses: [addressOf(1, 0)], port: 8080 }),
      actions: ['policy:1:1', 'ensure:1:1'],
    },
    {
      it: 'readers show something else -> published again',
      ...one,
      published: 'garbage',
      actions: [publish],
      ready: 'False RollingOut',
    },
    {
      it: 'readers show nothing -> published again',
      ...one,
      published: null,
      actions: [publish],
    },
  ],

  'a node that does not answer': [
    ...(['AgentSilent', 'NodeAway', 'DockerUnreachable'] as const).map((unreachable) => ({
      it: `${unreachable} -> nothing is planned, Ready is Unknown`,
      ...one,
      observed: [away(unreachable)],
      actions: [],
      ready: unreachable === 'DockerUnreachable' ? 'Unknown DockerUnreachable' : 'Unknown NodeUnreachable',
      available: unreachable === 'DockerUnreachable' ? 'Unknown DockerUnreachable' : 'Unknown NodeUnreachable',
      requeue: awayPollMs(away(unreachable), resourceId),
    })),
    {
      it: 'while a release waits to be resolved -> not even that',
      spec: v1,
      observed: [away('DockerUnreachable')],
      actions: [],
      ready: 'Unknown DockerUnreachable',
    },
    {
      it: 'in the middle of a rolling change -> no second copy, no verdict, no drain',
      ...starting2,
      observed: [away('DockerUnreachable')],
      actions: [],
    },
    {
      it: 'while it is being deleted -> stays Unknown and is not finalized',
      ...one,
      deleting: true,
      observed: [away('AgentSilent')],
      records: ['draining 1/0'],
      actions: [],
      ready: 'Unknown NodeUnreachable',
      requeue: 10_000,
    },
  ],

  'rolling change': [
    {
      it: 'template changed -> resolve while the old one serves on',
      ...one,
      spec: v2,
      actions: [resolve2],
      ready: 'False Resolving',
      available: 'True ReplicasReady',
    },
    {
      it: 'resolve failed for good -> the old one serves on and is repaired',
      ...two,
      spec: { ...v2, replicas: 2 },
      containers: [containerOf(two.releases[0] as typeof r1, 0)],
      failures: [failureOf(resolve2, { reason: 'ImageNotFound', retryable: false })],
      records: ['starting 1/1'],
      actions: [publish, resolve2, 'ensure:1:1'],
      ready: 'False ImageNotFound',
      available: 'True ReplicasReady',
    },
    ...[
      { replicas: 1, surge: 1 },
      { replicas: 2, surge: 1 },
      { replicas: 3, surge: 1 },
      { replicas: 5, surge: 2 },
    ].map(({ replicas, surge }) => ({
      it: `${replicas} replicas -> ${surge} more at a time`,
      ...changing(replicas),
      records: Array.from({ length: surge }, (_, i) => `endpoint 2/${i}`),
      actions: Array.from({ length: surge }, (_, i) => `ensure:2:${i}`),
      ready: 'False RollingOut',
    })),
    {
      it: 'new replica starting -> the old one is not touched',
      ...starting2,
      containers: [...rolling.containers, containerOf(r2, 0, fresh())],
      actions: [],
      requeue: 59_000,
    },
    {
      it: 'new replica ready -> the old one drains; published before it is stopped',
      ...starting2,
      containers: [...rolling.containers, containerOf(r2, 0)],
      records: ['ready 2/0', 'serving 2', 'draining 1/0'],
      actions: [publish],
      ready: 'False RollingOut',
      available: 'True ReplicasReady',
    },
    {
      it: 'three replicas, first new one ready -> one old one drains, the next new one starts',
      ...changing(3),
      endpoints: [...changing(3).endpoints, endpointOf(2, 0, 'starting')],
      containers: [...changing(3).containers, containerOf(changing(3).releases[1] as typeof r1, 0)],
      records: ['ready 2/0', 'draining 1/2', 'endpoint 2/1'],
      actions: [publish, 'ensure:2:1'],
    },
    {
      it: 'five replicas, two new ones ready -> still only one drains at once',
      ...changing(5),
      endpoints: [...changing(5).endpoints, endpointOf(2, 0, 'ready'), endpointOf(2, 1, 'ready')],
      containers: [...changing(5).containers, ...[0, 1].map((i) => containerOf(changing(5).releases[1] as typeof r1, i))],
      records: ['draining 1/4', 'endpoint 2/2'],
      actions: [publish, 'ensure:2:2'],
    },
    {
      it: 'an unready old replica -> leaves as soon as the new release has proved itself',
      ...changing(2),
      endpoints: [endpointOf(1, 0, 'ready'), endpointOf(1, 1, 'starting', { readyAt: epoch - 9_000 }), endpointOf(2, 0, 'ready')],
      containers: [
        containerOf(changing(2).releases[0] as typeof r1, 0),
        containerOf(changing(2).releases[0] as typeof r1, 1, { probe: { ready: false, message: '503' } }),
        containerOf(changing(2).releases[1] as typeof r1, 0),
      ],
      records: ['draining 1/1', 'unrouted 1/1', 'endpoint 2/1'],
      actions: ['ensure:2:1'],
    },
    {
      it: 'all old replicas unready -> the new release still gets a place',
      ...changing(1),
      endpoints: [endpointOf(1, 0, 'starting', { readyAt: epoch - 9_000 })],
      containers: [containerOf(r1, 0, { probe: { ready: false, message: '503' } })],
      published: revisionOf({ names: ['web.shop.internal'], addresses: [], port: 8080 }),
      records: ['endpoint 2/0'],
      actions: ['ensure:2:0'],
    },
    {
      it: 'more broken replicas than there are places -> the new release still gets one to prove itself',
      ...changing(1),
      endpoints: [0, 1].map((i) => endpointOf(1, i, 'starting', { readyAt: epoch - 9_000 })),
      containers: [0, 1].map((i) => containerOf(r1, i, { probe: { ready: false, message: '503' } })),
      published: revisionOf({ names: ['web.shop.internal'], addresses: [], port: 8080 }),
      records: ['endpoint 2/0'],
      actions: ['ensure:2:0'],
    },
    {
      it: 'more replicas wanted of a template that is not resolved yet -> none of the old one is started for that',
      ...one,
      spec: { ...v2, replicas: 3 },
      actions: [resolve2],
    },
    {
      it: 'template B while A has replaced the old ones but not proved itself -> the old one serves again',
      ...changing(2),
      spec: { ...v3, replicas: 2 },
      generation: 3,
      endpoints: [endpointOf(1, 0, 'ready'), endpointOf(1, 1, 'draining'), endpointOf(2, 0, 'ready')],
      containers: [0, 1].map((i) => containerOf(two.releases[0] as typeof r1, i)).concat(containerOf(changing(2).releases[1] as typeof r1, 0)),
      records: ['unrouted 1/1', 'starting 1/1', 'ready 1/1'],
      actions: [publish, `resolve:${nodeId}:shop/web:3`],
    },
    {
      it: 'all new ones ready, an old one still to leave -> not Ready yet',
      ...changing(2, { release2: served }),
      endpoints: [endpointOf(1, 0, 'ready'), endpointOf(1, 1, 'draining', { unroutedAt: epoch - 1_000 }), endpointOf(2, 0, 'ready'), endpointOf(2, 1, 'ready')],
      containers: [0, 1].flatMap((i) => [containerOf(two.releases[0] as typeof r1, i), containerOf(changing(2).releases[1] as typeof r1, i)]),
      actions: [],
      ready: 'False RollingOut',
      requeue: 5_000,
    },
    ...[
      { it: 'only an open connection holds the one that drains -> the next one leaves meanwhile', lingering: [1], records: ['draining 1/0'], actions: [publish] },
      { it: 'as many are held by connections as are wanted and one more -> no further one', lingering: [1, 2, 3], records: [], actions: [] },
    ].map(({ lingering, ...row }) => ({
      ...row,
      ...changing(2, { release2: served }),
      endpoints: [
        endpointOf(1, 0, 'ready'),
        ...lingering.map((i) => endpointOf(1, i, 'draining', { unroutedAt: epoch - 7_000 })),
        ...[0, 1].map((i) => endpointOf(2, i, 'ready')),
      ],
      containers: [
        ...[0, ...lingering].map((i) => containerOf(two.releases[0] as typeof r1, i)),
        ...[0, 1].map((i) => containerOf(changing(2).releases[1] as typeof r1, i)),
      ],
      connections: Object.fromEntries(lingering.map((i) => [addressOf(1, i), 1])),
      ready: 'False RollingOut',
    })),
    {
      it: 'replaced replica gone -> Ready for the new release',
      ...settledSetup(v2, 2),
      actions: [],
      ready: 'True Running',
    },
    {
      it: 'template B in the middle of A -> B is resolved, A and the old one are only repaired',
      ...starting2,
      spec: v3,
      generation: 3,
      containers: [...rolling.containers, containerOf(r2, 0, fresh())],
      actions: [`resolve:${nodeId}:shop/web:3`],
      ready: 'False Resolving',
    },
    {
      it: 'B resolved -> what never served of A goes at once, the old one serves on',
      ...starting2,
      spec: v3,
      generation: 3,
      containers: [...rolling.containers, containerOf(r2, 0, fresh())],
      settled: [resolvedTo('shop/web:3')],
      records: ['release 3', 'draining 2/0', 'endpoint 3/0'],
      actions: [retireOf(2, 0), 'ensure:3:0'],
      available: 'True ReplicasReady',
    },
    {
      it: 'back to the template of release 1 -> a new release, not the old one',
      ...settledSetup(v2, 2),
      spec: v1,
      generation: 3,
      settled: [resolvedTo('shop/web:1')],
      records: ['release 3', 'endpoint 3/0'],
      actions: ['ensure:3:0'],
    },
  ],

  scale: [
    {
      it: 'up from 1 to 3 -> all at once, no new release',
      ...one,
      spec: { ...v1, replicas: 3 },
      generation: 2,
      records: ['endpoint 1/1', 'endpoint 1/2'],
      actions: ['ensure:1:1', 'ensure:1:2'],
      ready: 'False RollingOut',
    },
    {
      it: 'down from 3 to 1 -> the highest drain, one at once',
      ...settledSetup({ ...v1, replicas: 3 }),
      spec: v1,
      generation: 2,
      records: ['draining 1/2'],
      actions: [publish],
    },
    {
      it: 'to 0 -> all drain together and the name answers with nothing',
      ...two,
      spec: { ...v1, replicas: 0 },
      generation: 2,
      records: ['draining 1/1', 'draining 1/0'],
      actions: [publish],
      ready: 'False RollingOut',
      available: 'False ScaledToZero',
    },
    {
      it: 'to 0, unpublished -> stopped at once, nobody else is there to wait for',
      ...two,
      spec: { ...v1, replicas: 0 },
      generation: 2,
      endpoints: two.endpoints.map((e) => ({ ...e, state: 'draining' as const })),
      published: revisionOf({ names: ['web.shop.internal'], addresses: [], port: 8080 }),
      records: ['unrouted 1/0', 'unrouted 1/1'],
      actions: [retireOf(1, 0), retireOf(1, 1)],
    },
    {
      it: 'at 0 -> nothing',
      spec: { ...v1, replicas: 0 },
      releases: [r1],
      actions: [],
      ready: 'True ScaledToZero',
      available: 'False ScaledToZero',
      requeue: null,
    },
    {
      it: 'to 0 together with an image that no registry tells -> goes to 0 all the same',
      ...one,
      spec: { ...v2, replicas: 0 },
      failures: [failureOf(resolve2, { reason: 'RegistryUnreachable' })],
      records: ['draining 1/0'],
      actions: [publish, resolve2],
    },
    {
      it: 'to 0 and back while draining -> the draining replica serves again',
      ...one,
      endpoints: [endpointOf(1, 0, 'draining', { unroutedAt: epoch - 1_000 })],
      published: revisionOf({ names: ['web.shop.internal'], addresses: [], port: 8080 }),
      records: ['starting 1/0', 'ready 1/0'],
      actions: [publish],
      available: 'True ReplicasReady',
    },
    {
      it: 'the one that replaces it falls while it drains -> it goes on serving those that still find it',
      ...changing(1, { release2: served }),
      endpoints: [endpointOf(1, 0, 'draining', { unroutedAt: epoch - 2_000 }), endpointOf(2, 0, 'starting', { readyAt: epoch - 9_000 })],
      containers: [containerOf(r1, 0)],
      published: revisionOf({ names: ['web.shop.internal'], addresses: [], port: 8080 }),
      actions: ['ensure:2:0'],
      requeue: 4_000,
    },
    {
      it: 'to 0 and back while it is being stopped -> waits for the stop, then a new one',
      ...one,
      endpoints: [endpointOf(1, 0, 'draining', { unroutedAt: epoch - 1_000 })],
      inFlight: [inFlightOf(retireOf(1, 0), { verb: 'retireContainer', container: name(1, 0) })],
      published: revisionOf({ names: ['web.shop.internal'], addresses: [], port: 8080 }),
      actions: [retireOf(1, 0)],
      requeue: null,
    },
  ],

  draining: [
    {
      it: 'still published -> waits, without polling',
      ...settledSetup(v2, 2),
      releases: [r1, releaseOf(2, v2, served)],
      endpoints: [endpointOf(1, 0, 'draining'), endpointOf(2, 0, 'ready')],
      containers: [containerOf(r1, 0), containerOf(releaseOf(2, v2), 0)],
      published: 'before',
      actions: [publish],
      requeue: null,
    },
    {
      it: 'just unpublished -> waits for DNS answers to die',
      ...settledSetup(v2, 2),
      releases: [r1, releaseOf(2, v2, served)],
      endpoints: [endpointOf(1, 0, 'draining'), endpointOf(2, 0, 'ready')],
      containers: [containerOf(r1, 0), containerOf(releaseOf(2, v2), 0)],
      records: ['unrouted 1/0'],
      actions: [],
      requeue: 6_000,
    },
    {
      it: 'an older publication is still being written -> not taken for unpublished',
      ...settledSetup(v2, 2),
      releases: [r1, releaseOf(2, v2, served)],
      endpoints: [endpointOf(1, 0, 'draining'), endpointOf(2, 0, 'ready')],
      containers: [containerOf(r1, 0), containerOf(releaseOf(2, v2), 0)],
      inFlight: [inFlightOf(publish, { verb: 'publishEndpoints' })],
      actions: [],
    },
    ...[
      { it: 'DNS answers may be alive -> waits for the rest', since: 5_999, connections: 0, requeue: 50 },
      { it: 'DNS answers dead, no connection -> stopped', since: 6_000, connections: 0, requeue: null, stops: true },
      { it: 'a connection is open -> waits and looks every second', since: 6_000, connections: 1, requeue: 1_000 },
      { it: 'a connection is open near the end of drainSeconds -> waits for the end', since: 29_600, connections: 1, requeue: 400 },
      { it: 'a connection is open for drainSeconds -> stopped all the same', since: 30_000, connections: 1, requeue: null, stops: true },
      { it: 'looked at late, drainSeconds long over -> stopped all the same', since: 99_000, connections: 1, requeue: null, stops: true },
      { it: 'drainSeconds below the TTL -> bounds that too', since: 2_000, connections: 1, requeue: null, stops: true, drainSeconds: 2 },
    ].map(({ it: condition, since, connections, requeue, stops, drainSeconds }) => ({
      it: condition,
      ...settledSetup(v2, 2),
      spec: { ...v2, drainSeconds },
      releases: [r1, releaseOf(2, v2, served)],
      endpoints: [endpointOf(1, 0, 'draining', { unroutedAt: epoch - since }), endpointOf(2, 0, 'ready')],
      containers: [containerOf(r1, 0), containerOf(releaseOf(2, v2), 0)],
      connections: { [addressOf(1, 0)]: connections, [addressOf(2, 0)]: 9 },
      actions: stops ? [retireOf(1, 0)] : [],
      requeue,
    })),
    {
      it: 'never ready -> stopped at once, though a publication is pending',
      ...settledSetup(v2, 2),
      endpoints: [endpointOf(2, 0, 'ready'), endpointOf(2, 1, 'draining', { readyAt: null })],
      containers: [containerOf(releaseOf(2, v2), 0), containerOf(releaseOf(2, v2), 1, fresh())],
      published: 'before',
      actions: [publish, retireOf(2, 1)],
    },
    {
      it: 'no longer running, still named by readers -> stays, for Docker may start it again',
      ...settledSetup(v2, 2),
      releases: [r1, releaseOf(2, v2, served)],
      endpoints: [endpointOf(1, 0, 'draining'), endpointOf(2, 0, 'ready')],
      containers: [containerOf(r1, 0, exited(0)), containerOf(releaseOf(2, v2), 0)],
      published: 'before',
      actions: [publish],
    },
    {
      it: 'no longer running, named by nobody -> removed at once, without waiting for the TTL',
      ...settledSetup(v2, 2),
      releases: [r1, releaseOf(2, v2, served)],
      endpoints: [endpointOf(1, 0, 'draining', { unroutedAt: epoch }), endpointOf(2, 0, 'ready')],
      containers: [containerOf(r1, 0, exited(0)), containerOf(releaseOf(2, v2), 0)],
      actions: [retireOf(1, 0)],
    },
    {
      it: 'container gone, readers not known to have forgotten it -> the address is kept',
      ...settledSetup(v2, 2),
      releases: [r1, releaseOf(2, v2, served)],
      endpoints: [endpointOf(1, 0, 'draining'), endpointOf(2, 0, 'ready')],
      containers: [containerOf(releaseOf(2, v2), 0)],
      published: 'before',
      actions: [publish],
      requeue: null,
    },
    {
      it: 'container gone and unpublished -> the address is given back',
      ...settledSetup(v2, 2),
      releases: [r1, releaseOf(2, v2, served)],
      endpoints: [endpointOf(1, 0, 'draining'), endpointOf(2, 0, 'ready')],
      containers: [containerOf(releaseOf(2, v2), 0)],
      records: ['unrouted 1/0', 'gone 1/0'],
      actions: [],
      ready: 'True Running',
    },
    {
      it: 'never ready, its container still being made -> the address is kept',
      ...settledSetup(v2, 2),
      endpoints: [endpointOf(2, 0, 'ready'), endpointOf(2, 1, 'draining', { readyAt: null })],
      inFlight: [inFlightOf('ensure:2:1', { container: name(2, 1) })],
      actions: [],
    },
    {
      it: 'never ready, on a node that does not answer -> the address is kept',
      ...one,
      endpoints: [endpointOf(1, 0, 'ready'), endpointOf(1, 1, 'draining', { readyAt: null })],
      observed: [away('NodeAway')],
      actions: [],
    },
    {
      it: 'a stray still holds its address -> not given back',
      ...settledSetup(v2, 2),
      releases: [r1, releaseOf(2, v2, served)],
      endpoints: [endpointOf(1, 0, 'draining', { unroutedAt: epoch - 60_000 }), endpointOf(2, 0, 'ready')],
      containers: [containerOf(r1, 0, { name: 'db-of-frank' }), containerOf(releaseOf(2, v2), 0)],
      actions: ['retire:db-of-frank'],
    },
    {
      it: 'stop is running -> no polling meanwhile',
      ...settledSetup(v2, 2),
      releases: [r1, releaseOf(2, v2, served)],
      endpoints: [endpointOf(1, 0, 'draining', { unroutedAt: epoch - 60_000 }), endpointOf(2, 0, 'ready')],
      containers: [containerOf(r1, 0), containerOf(releaseOf(2, v2), 0)],
      inFlight: [inFlightOf(retireOf(1, 0), { verb: 'retireContainer', container: name(1, 0) })],
      actions: [retireOf(1, 0)],
      requeue: null,
    },
  ],

  delete: [
    {
      it: 'serving -> drains and unpublishes',
      ...one,
      deleting: true,
      records: ['draining 1/0'],
      actions: [publish],
      ready: 'False Deleting',
    },
    {
      it: 'unpublished -> stopped',
      ...one,
      deleting: true,
      published: null,
      records: ['draining 1/0', 'unrouted 1/0'],
      actions: [retireOf(1, 0)],
    },
    {
      it: 'with an open connection -> waits at most drainSeconds',
      ...one,
      deleting: true,
      published: null,
      endpoints: [endpointOf(1, 0, 'draining', { unroutedAt: epoch - 29_500 })],
      connections: { [addressOf(1, 0)]: 2 },
      actions: [],
      requeue: 500,
    },
    {
      it: 'in the middle of a rolling change -> everything of both releases',
      ...starting2,
      deleting: true,
      published: null,
      containers: [...rolling.containers, containerOf(r2, 0, fresh())],
      records: ['draining 2/0', 'draining 1/0', 'unrouted 1/0'],
      actions: [retireOf(1, 0), retireOf(2, 0)],
    },
    {
      it: 'never resolved -> nothing to do',
      deleting: true,
      actions: [],
      ready: 'False Deleting',
    },
    {
      it: 'containers that no endpoint stands for -> removed',
      deleting: true,
      releases: [r1],
      containers: [containerOf(r1, 0), containerOf(r1, 3, exited(1))],
      actions: [retireOf(1, 0), retireOf(1, 3)],
    },
  ],

  'addresses, holds and quiet': [
    {
      it: 'network exhausted -> told, what is there serves on, and asked again after a while',
      ...changing(1),
      addressesExhausted: true,
      actions: [],
      ready: 'False AddressesExhausted',
      available: 'True ReplicasReady',
      requeue: 10_000,
    },
    {
      it: 'quiet -> no resolve',
      ...one,
      spec: v2,
      quiet: true,
      actions: [],
    },
    { it: 'quiet -> no new endpoint', ...changing(1), quiet: true, actions: [] },
    { it: 'quiet -> no first container', ...starting2, quiet: true, actions: [] },
    {
      it: 'quiet -> repairs what has served, unpublishes, and stops',
      ...two,
      quiet: true,
      endpoints: [...two.endpoints, endpointOf(1, 2, 'draining', { unroutedAt: epoch - 60_000 })],
      containers: [containerOf(two.releases[0] as typeof r1, 0), containerOf(two.releases[0] as typeof r1, 1, exited(1)), containerOf(two.releases[0] as typeof r1, 2)],
      records: ['starting 1/1'],
      actions: [publish, retireOf(1, 2), 'ensure:1:1'],
    },
    {
      it: 'a held key -> still wanted, admission keeps it back',
      ...one,
      spec: v2,
      holds: [resolve2],
      actions: [resolve2],
    },
  ],

  'an image known only by its local id': [
    {
      it: 'id and tag gone -> pulled by tag',
      ...localOnly({ tag: null }),
      actions: [pullKey(nodeId, 'sha256:abc')],
    },
    {
      it: 'id gone, tag is another image now -> given up, because a pull would change nothing',
      ...localOnly({ tag: 'sha256:def' }),
      records: ['verdict 1 ImageMissing', 'draining 1/0', 'gone 1/0'],
      actions: [],
      ready: 'False ImageMissing',
    },
    {
      it: 'the same of a release that serves -> no pull, told',
      ...localOnly({ tag: 'sha256:def', servingAt: epoch - 50_000 }),
      actions: [],
      ready: 'False ImageMissing',
    },
  ],
}

function localOnly({ tag, servingAt = null }: { tag: string | null; servingAt?: number | null }): Setup {
  const release = releaseOf(1, v1, { resolvedImage: 'sha256:abc', resolvedFrom: 'image-id', servingAt })
  return {
    releases: [release],
    endpoints: [endpointOf(1, 0, 'starting')],
    observed: [
      { node: nodeId, unreachable: null, containers: [], images: { 'shop/web:1': tag, 'sha256:abc': null }, published: null, connections: {} },
    ],
  }
}

describe('planApplication', () => {
  for (const [group, rows] of Object.entries(tables)) {
    describe(group, () => {
      it.each(rows)('$it', ({ it: _, records, actions, ready, available, requeue, ...setup }) => {
        const pass = passOf(setup)
        expect({ records: pass.records, actions: pass.actions }).toEqual({ records: records ?? [], actions })
        if (ready) expect(pass.conditions['Ready']).toBe(ready)
        if (available) expect(pass.conditions['Available']).toBe(available)
        if (requeue !== undefined) expect(pass.requeueAfterMs).toBe(requeue)
      })
    })
  }

  it('records wanted -> neither actions nor conditions rest on what is not written yet', () => {
    const plan = planApplication(inputOf({ settled: [resolvedTo('shop/web:1')] }))
    expect(plan).toMatchObject({ actions: [], conditions: [], finalize: false })
    expect(plan.records).toHaveLength(1)
  })

  it('the network gives out while endpoints are asked for -> those that got one go on', () => {
    const pass = passOf({ ...one, spec: { ...v1, replicas: 4 }, generation: 2 }, 1)
    expect(pass.actions).toEqual(['ensure:1:1'])
    expect(pass.conditions['Ready']).toBe('False AddressesExhausted')
  })

  describe('finalize', () => {
    const gone: Setup = { deleting: true, releases: [r1] }
    it.each([
      { it: 'nothing left -> true', setup: gone, expected: true },
      { it: 'an action in flight -> false', setup: { ...gone, inFlight: [inFlightOf(pullKey(nodeId, image1))] }, expected: false },
      { it: 'still published -> false', setup: { ...gone, published: 'x' }, expected: false },
      { it: 'a container left -> false', setup: { ...gone, containers: [containerOf(r1, 0)] }, expected: false },
      { it: 'node silent -> false', setup: { ...gone, observed: [away('NodeAway')] }, expected: false },
      { it: 'not deleted -> false', setup: { ...gone, deleting: false, spec: specOf({ replicas: 0 }) }, expected: false },
    ])('$it', ({ setup, expected }) => expect(passOf(setup).finalize).toBe(expected))
  })

  describe('the container that it asks for', () => {
    const spec = specOf({
      env: [
        { name: 'B', value: '$HOME `x` "q" \n' },
        { name: 'A', value: '' },
      ],
      labels: [{ key: 'team', value: 'shop' }],
      command: ['serve', '--port', '8080'],
      readiness: { path: '/health' },
      stopGraceSeconds: 42,
    })
    const release = releaseOf(1, spec)
    const setup = { spec, releases: [release], endpoints: [endpointOf(1, 0, 'starting')] }
    const container = (change: Setup = {}) => actionOf(passOf({ ...setup, ...change }), 'ensure:1:0', 'ensureContainer').args.container

    it('first start -> everything from the frozen template, Docker does not restart it', () => {
      expect(container()).toEqual({
        name: 'ek-i1-app_web-1-0',
        image: release.resolvedImage,
        labels: {
          team: 'shop',
          'evenkeel.instance': 'i1',
          'evenkeel.kind': 'application',
          'evenkeel.resource': 'app_web',
          'evenkeel.name': 'web',
          'evenkeel.project': 'shop',
          'evenkeel.release': '1',
          'evenkeel.replica': '0',
          'evenkeel.spec-hash': release.hash,
          'evenkeel.stop-grace': '42',
          'evenkeel.probe': '{"kind":"http","port":8080,"path":"/health","intervalMs":2000,"timeoutMs":2000,"failureThreshold":3}',
        },
        env: [
          ['B', '$HOME `x` "q" \n'],
          ['A', ''],
        ],
        entrypoint: null,
        command: ['serve', '--port', '8080'],
        hostname: 'web-1-0',
        address: addressOf(1, 0),
        publishedPorts: [],
        restartPolicy: 'no',
        stopGraceSeconds: 42,
        dnsSearch: ['shop.internal'],
      })
    })

    it('was ready before -> Docker restarts it', () => {
      expect(container({ endpoints: [endpointOf(1, 0, 'starting', { readyAt: epoch })] }).restartPolicy).toBe('unless-stopped')
    })

    it('new replica of a release that has served -> Docker restarts it', () => {
      expect(container({ releases: [releaseOf(1, spec, served)] }).restartPolicy).toBe('unless-stopped')
    })

    it('the spec has moved on -> an old replica is repaired from its own release', () => {
      const pass = passOf({ ...setup, releases: [{ ...release, ...served }], spec: { ...spec, env: [] }, endpoints: [endpointOf(1, 0, 'starting', { readyAt: epoch })] })
      expect(actionOf(pass, 'ensure:1:0', 'ensureContainer').args.container.env).toHaveLength(2)
    })

    it('a 63-character name -> the host name is a valid DNS label', () => {
      const input = inputOf(setup)
      const long = { ...input, resource: { ...input.resource, name: `a${'-'.repeat(61)}b` } }
      const host = actionOf(passOf(long), 'ensure:1:0', 'ensureContainer').args.container.hostname ?? ''
      expect(host).toMatch(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/)
    })
  })

  it('stop -> full grace, and an activity that outlasts it', () => {
    const pass = passOf({ ...one, spec: { ...v1, stopGraceSeconds: 600 }, containers: [...one.containers, containerOf(r1, 7)] })
    expect(actionOf(pass, retireOf(1, 7), 'retireContainer')).toMatchObject({ args: { graceSeconds: 600 }, timeoutSeconds: 660, queue: 'long' })
  })

  it('published -> names and addresses of ready replicas only, in a stable order', () => {
    const pass = passOf({
      ...two,
      endpoints: [...two.endpoints].reverse().concat(endpointOf(1, 2, 'starting'), endpointOf(1, 3, 'draining')),
      published: 'before',
    })
    expect(actionOf(pass, publish, 'publishEndpoints').args.publication).toEqual({
      names: ['web.shop.internal'],
      addresses: [addressOf(1, 0), addressOf(1, 1)],
      port: 8080,
    })
  })

  it('the port changes -> each replica is dialled at its own while both releases serve', () => {
    const spec = specOf({ ports: [9090] })
    const both = [releaseOf(1, v1, served), releaseOf(2, spec)] as const
    const pass = passOf({
      spec: { ...spec, replicas: 2 },
      releases: [...both],
      endpoints: [endpointOf(1, 0, 'ready'), endpointOf(1, 1, 'ready'), endpointOf(2, 0, 'ready')],
      containers: [containerOf(both[0], 0), containerOf(both[0], 1), containerOf(both[1], 0)],
      published: 'before',
    })
    expect(actionOf(pass, publish, 'publishEndpoints').args.publication).toEqual({
      names: ['web.shop.internal'],
      addresses: [addressOf(1, 0), addressOf(2, 0)],
      port: 8080,
      otherPorts: { [addressOf(2, 0)]: 9090 },
    })
  })

  it('a hidden node -> its replicas stay published elsewhere, for silence is not death', () => {
    const seen = inputOf({ ...two, endpoints: [endpointOf(1, 0, 'ready'), endpointOf(1, 1, 'ready', { node: 'node_2' })] })
    const input = { ...seen, observed: [...seen.observed, { node: 'node_2', unreachable: 'AgentSilent' as const, message: 'silent' }] }
    expect(publicationOf(worldOf(input))?.addresses).toEqual([addressOf(1, 0), addressOf(1, 1)])
  })

  it('moved to another node -> the one it leaves shows the new replicas until the other does, then nothing', () => {
    const moved = (here: string | null, there: string | null) => {
      const input = inputOf({ ...one, endpoints: [endpointOf(1, 1, 'draining'), endpointOf(1, 0, 'ready', { node: 'node_2' })], containers: [] })
      const [first] = input.observed.filter((o) => o.unreachable === null)
      if (!first) throw new Error('no node')
      const second = { ...first, node: 'node_2', containers: [containerOf(r1, 0)], published: there }
      const world = { ...input, desired: { ...input.desired, node: 'node_2' }, observed: [{ ...first, published: here }, second] }
      return passOf(world).plan.actions.flatMap((a) => (a.verb === 'publishEndpoints' ? [`${a.node} ${a.args.publication?.addresses.length ?? 'nothing'}`] : []))
    }
    const live = revisionOf({ names: ['web.shop.internal'], addresses: [addressOf(1, 0)], port: 8080 })
    expect(moved('before', null)).toEqual(['node_1 1', 'node_2 1'])
    expect(moved('before', live)).toEqual(['node_1 nothing'])
    expect(moved(null, live), 'what may come late').toEqual(['node_1 nothing'])
  })

  it('a release that never served crashes while the next image cannot be had -> given up, and not started for ever', () => {
    const setup = { ...changing(1), releases: [releaseOf(1, v1)], endpoints: [endpointOf(1, 0, 'starting')], containers: [containerOf(r1, 0, exited(1))] }
    const pass = passOf({ ...setup, failures: [failureOf(resolve2, { retryable: false })], generation: 2 })
    expect(pass.records).toEqual(['verdict 1 ContainerExited', 'draining 1/0'])
    expect(pass.actions).not.toContain('ensure:1:0')
  })

  describe('the start-up budget is over', () => {
    const late = (probe: { ready: boolean; message: string; asked?: boolean }, seenAgoMs: number) => {
      const setup = { ...changing(1), endpoints: [endpointOf(1, 0, 'ready'), endpointOf(2, 0, 'starting')] }
      const young = containerOf(setup.releases[1] ?? r1, 0, fresh({ startedAt: epoch - 90_000, probe }))
      const input = inputOf({ ...setup, containers: [...setup.containers, young] })
      return passOf({ ...input, observed: input.observed.map((o) => ({ ...o, observedAt: epoch - seenAgoMs })) })
    }

    it('the replica was asked and is not ready -> verdict', () =>
      expect(late({ ready: false, message: '503' }, 0).records).toContain('verdict 2 ReadinessTimeout'))

    it('only by now, not when it was seen -> no verdict on what may be ready since, another look when it was due', () => {
      const pass = late({ ready: false, message: '503' }, 50_000)
      expect(pass.records).not.toContain('verdict 2 ReadinessTimeout')
      expect(pass.requeueAfterMs).toBe(20_000)
    })

    it('nobody has asked the replica yet -> no verdict, another look soon', () => {
      const pass = late({ ready: false, message: 'not probed yet', asked: false }, 0)
      expect(pass.records).not.toContain('verdict 2 ReadinessTimeout')
      expect(pass.requeueAfterMs).toBe(1_000)
    })
  })

  describe('a replica of a release that never was complete was ready once, and is not any more', () => {
    interface Unready {
      forMs: number
      runningMs?: number
      probe?: { ready: boolean | null; message: string; asked?: boolean }
      release2?: object
      state?: 'starting' | 'ready'
    }
    const unready = ({ forMs, runningMs = 600_000, probe = { ready: false, message: '503' }, release2, state = 'starting' }: Unready) => {
      const setup = changing(1, { release2 })
      const endpoints = [endpointOf(1, 0, 'ready'), endpointOf(2, 0, state, { stateAt: epoch - forMs, readyAt: epoch - 500_000 })]
      const container = containerOf(setup.releases[1] ?? r1, 0, { startedAt: epoch - runningMs, probe })
      return passOf({ ...setup, endpoints, containers: [...setup.containers, container], published: 'live' })
    }

    it('for as long as its budget -> given up, and what served before serves on', () => {
      const pass = unready({ forMs: 60_000 })
      expect(pass.records).toEqual(['verdict 2 ReadinessTimeout', 'draining 2/0', 'unrouted 2/0'])
      expect(pass.messages['Ready']).toContain('replica 0 was ready, and then was not for 60 s; the last probe said: 503; release 1 serves on')
    })

    it('for less -> waits for the rest', () => {
      const pass = unready({ forMs: 59_000 })
      expect({ records: pass.records, requeue: pass.requeueAfterMs }).toEqual({ records: [], requeue: 1_000 })
    })

    it('but it was started again since -> has its whole budget', () => {
      const pass = unready({ forMs: 600_000, runningMs: 20_000 })
      expect({ records: pass.records, requeue: pass.requeueAfterMs }).toEqual({ records: [], requeue: 40_000 })
    })

    it('it is only now that it is seen -> its budget begins', () => {
      const pass = unready({ forMs: 500_000, state: 'ready' })
      expect(pass.records).toEqual(['starting 2/0'])
      expect(pass.input.desired.endpoints[1]).toMatchObject({ stateAt: epoch })
      expect(pass.requeueAfterMs).toBe(60_000)
    })

    it.each([
      ['nobody knows', { ready: null, message: '' }],
      ['nobody has asked its present run', { ready: false, message: '', asked: false }],
    ])('%s -> no verdict', (_, probe) => expect(unready({ forMs: 600_000, probe }).records).toEqual([]))

    it('the release was complete before -> stays', () => {
      expect(unready({ forMs: 600_000, release2: served }).records).not.toContain('verdict 2 ReadinessTimeout')
    })
  })

  it('a new replica ended while nobody watched, as by a reboot -> started again, no verdict', () => {
    const setup = { ...changing(1), endpoints: [endpointOf(1, 0, 'ready'), endpointOf(2, 0, 'starting')] }
    const containers = [...setup.containers, containerOf(setup.releases[1] ?? r1, 0, exited(137, { endedUnseen: true }))]
    const pass = passOf({ ...setup, containers })
    expect(pass.records).toEqual([])
    expect(pass.actions).toContain('ensure:2:0')
  })

  it('containers in any order -> the same plan', () => {
    const setup = { ...two, containers: [...two.containers, containerOf(r1, 7), containerOf(r1, 8), containerOf(r1, 9)] }
    expect(planApplication(inputOf({ ...setup, containers: setup.containers.toReversed() }))).toEqual(planApplication(inputOf(setup)))
  })

  it('showing() -> really what the planner wants shown', () => {
    const input = showing(inputOf({ ...two, published: 'before' }))
    expect(planApplication(input).actions).toEqual([])
  })
})
