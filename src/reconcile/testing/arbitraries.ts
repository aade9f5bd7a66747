import fc from 'fast-check'
import type { ApplicationDesired, Endpoint, Release } from '../application/desired.js'
import type { ApplicationSpec } from '../application/spec.js'
import type { PlanInput } from '../controller.js'
import { volumeName } from '../labels.js'
import { ContainerState, type ObservedContainer } from '../observed.js'
import { pullKey } from '../pull-key.js'
import { containerOf, digestOf, endpointOf, epoch, failureOf, inputOf, instance, nodeId, releaseOf, resourceId, settledSetup, specOf } from './application-world.js'
import type { Story } from './application-run.js'
import { Fate } from './simulated-world.js'

const hunted = process.env['EVENKEEL_PROPERTY_RUNS']

/** Runs of one property: a few hundred in the suite, any number by `EVENKEEL_PROPERTY_RUNS`. */
export const numRuns = Number(hunted ?? 300)

// The suite tries the same worlds each time, so that what it says is about the change. A hunt tries new ones, and fast-check
// prints the seed of what it finds: the fault is fixed, and the world that showed it becomes a row of a table.
if (hunted === undefined) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: 20_261_129 })

export const anySeed = fc.integer({ min: 0, max: 2 ** 31 })

const images = ['shop/web:1', 'shop/web:2', 'shop/web:3']

export const anySpec: fc.Arbitrary<ApplicationSpec> = fc.record({
  image: fc.constantFrom(...images),
  ports: fc.constantFrom([8080], [9090, 8080]),
  replicas: fc.integer({ min: 1, max: 5 }),
  env: fc.constantFrom(undefined, [{ name: 'A', value: '1' }]),
  drainSeconds: fc.constantFrom(undefined, 2),
  strategy: fc.constantFrom(undefined, 'rolling' as const, 'blue-green' as const),
  preDeploy: fc.constantFrom(undefined, undefined, { command: ['migrate'] }),
})

/** Also those whose changes have a gap. */
const anyStrategySpec: fc.Arbitrary<ApplicationSpec> = fc
  .record({ spec: anySpec, recreate: fc.boolean(), suspended: fc.constantFrom(undefined, undefined, true) })
  .map(({ spec, recreate, suspended }) => ({ ...spec, ...(recreate ? { strategy: 'recreate' as const } : {}), suspended }))

const anyFailing = fc.constantFrom<'never' | number>('never', 1, 3)
const anyFailings = fc.dictionary(fc.constantFrom(...images.slice(1).flatMap((i) => [i, digestOf(i)])), anyFailing, { maxKeys: 2 })

const nodes = [nodeId, nodeId, 'node_2'] as const

const anySilence = fc.record({
  node: fc.constantFrom(...nodes),
  fromMs: fc.integer({ min: 0, max: 20_000 }),
  // Short, or longer than anybody waits for a node.
  lastsMs: fc.oneof({ weight: 3, arbitrary: fc.integer({ min: 1, max: 90_000 }) }, { weight: 1, arbitrary: fc.integer({ min: 590_000, max: 1_300_000 }) }),
  unreachable: fc.constantFrom('AgentSilent' as const, 'DockerUnreachable' as const, 'NodeAway' as const),
}).map(({ node, fromMs, lastsMs, unreachable }) => ({ node, fromMs, toMs: fromMs + lastsMs, unreachable }))

/** A healthy fleet that is changed up to three times, at any moments, into releases that may be good or bad. */
export const anyChange = fc
  .record({
    first: anySpec.map((spec) => ({ ...spec, image: 'shop/web:1' })),
    changes: fc.array(fc.record({ afterMs: fc.integer({ min: 0, max: 40_000 }), spec: anySpec, node: fc.constantFrom(...nodes) }), { minLength: 1, maxLength: 3 }),
    fates: fc.array(fc.constantFrom<Fate>('healthy', 'healthy', 'slow', 'neverReady', 'exits'), { minLength: 6, maxLength: 6 }),
    broken: fc.subarray([0, 1, 2, 3, 4]),
    failings: anyFailings,
    missingImages: fc.subarray(images.slice(1).map(digestOf)),
    silence: fc.option(anySilence, { nil: undefined, freq: 4 }),
    quietUntilMs: fc.constantFrom(0, 0, 5_000),
    seed: anySeed,
  })
  .map(({ first, changes, fates, broken, failings, missingImages, silence, quietUntilMs, seed }) => {
    const count = first.replicas ?? 1
    // At least one replica is ready at the start.
    const brokenReplicas = broken.filter((b) => b < count).slice(0, count - 1)
    const setup = settledSetup(first)
    const input = inputOf({
      ...setup,
      endpoints: setup.endpoints.map((e) => (brokenReplicas.includes(e.replica) ? { ...e, state: 'starting' } : e)),
      containers: setup.containers.map((c) => (brokenReplicas.includes(c.replica) ? { ...c, probe: { ready: false, message: '503' } } : c)),
    })
    const story: Story = {
      // Placement is part of a release, so another node is another template.
      changes: changes
        .toSorted((a, b) => a.afterMs - b.afterMs)
        .map((c) => ({ ...c, spec: c.node === nodeId ? c.spec : { ...c.spec, placement: { node: 'second' } } })),
      fates: ['healthy', 'healthy', ...fates],
      brokenReplicas,
      pulls: failings,
      resolves: failings,
      silence,
      quietUntilMs,
      seed,
    }
    return { input: withImages(input, missingImages), story, counts: [count, ...changes.map((c) => c.spec.replicas ?? 1)], brokenReplicas }
  })

function withImages(input: PlanInput<ApplicationDesired>, missing: string[]): PlanInput<ApplicationDesired> {
  const all = Object.fromEntries([...images, ...images.map(digestOf)].map((i) => [i, missing.includes(i) ? null : `sha256:${i}`]))
  return { ...input, observed: input.observed.map((o) => (o.unreachable === null ? { ...o, images: all } : o)) }
}

const anyVerdict = fc.option(fc.constant({ reason: 'ContainerExited', message: 'it ended' }), { nil: null })

const anyRelease = fc.record({ spec: anyStrategySpec, verdict: anyVerdict, served: fc.boolean(), local: fc.boolean() })

const anyEndpoint = fc.record({
  release: fc.integer({ min: 1, max: 4 }),
  replica: fc.integer({ min: 0, max: 5 }),
  state: fc.constantFrom('starting' as const, 'ready' as const, 'draining' as const),
  wasReady: fc.boolean(),
  unrouted: fc.boolean(),
  inStateMs: fc.constantFrom(10_000, 700_000),
})

const anyContainer = fc.record({
  release: fc.integer({ min: 0, max: 4 }),
  replica: fc.integer({ min: 0, max: 5 }),
  rightName: fc.boolean(),
  rightHash: fc.boolean(),
  rightAddress: fc.boolean(),
  state: fc.constantFrom(...ContainerState),
  exitCode: fc.constantFrom(0, 1, 127, 137),
  oomKilled: fc.boolean(),
  restartCount: fc.constantFrom(0, 1, 9),
  restartPolicy: fc.constantFrom('no', 'unless-stopped'),
  ready: fc.constantFrom(true, false, null),
  endedUnseen: fc.boolean(),
  agoMs: fc.constantFrom(0, 500, 10_000, 100_000),
})

/** Any rows beside any containers, images and publications, however unlikely. */
export const anyWorld = fc
  .record({
    spec: anyStrategySpec,
    replicas: fc.integer({ min: 0, max: 5 }),
    releases: fc.array(anyRelease, { maxLength: 3 }),
    asLatest: fc.boolean(),
    newer: fc.integer({ min: 0, max: 1 }),
    endpoints: fc.uniqueArray(anyEndpoint, { maxLength: 8, selector: (e) => `${e.release}/${e.replica}` }),
    containers: fc.array(anyContainer, { maxLength: 8 }),
    missing: fc.subarray([...images, ...images.map(digestOf)]),
    published: fc.constantFrom('live' as const, null, 'garbage'),
    publishedOn: fc.subarray([nodeId, 'node_2']),
    withVolumes: fc.boolean(),
    volumesOn: fc.subarray([nodeId, 'node_2', 'node_3']),
    removesVolumes: fc.boolean(),
    volumes: fc.subarray([volumeName(instance, resourceId, 'data'), volumeName(instance, resourceId, 'old')]),
    failures: fc.subarray([`resolve:${nodeId}:shop/web:1`, `publish:${nodeId}`, 'ensure:1:0', 'ensure:2:0', pullKey(nodeId, digestOf('shop/web:1'))]),
    deleting: fc.boolean(),
    fates: fc.array(fc.constantFrom(...Fate), { minLength: 8, maxLength: 8 }),
    silence: fc.option(anySilence, { nil: undefined, freq: 3 }),
    quietUntilMs: fc.constantFrom(0, 0, 5_000),
    seed: anySeed,
  })
  .map((w) => {
    const releases = w.releases.map((r, i): Release =>
      releaseOf(i + 1, r.spec, {
        verdict: r.verdict,
        servingAt: r.served ? epoch - 90_000 : null,
        ...(r.local ? { resolvedImage: `sha256:local${i}`, resolvedFrom: 'image-id' } : {}),
      }),
    )
    const last = w.releases.at(-1)
    const mounting = w.withVolumes ? { volumes: [{ name: 'data', path: '/data' }] } : {}
    const spec = { ...(w.asLatest && last ? last.spec : w.spec), ...mounting, replicas: w.replicas }
    const endpoints = w.endpoints.map(({ release, replica, state, wasReady, unrouted, inStateMs }): Endpoint =>
      endpointOf(release, replica, state, {
        stateAt: epoch - inStateMs,
        readyAt: state === 'ready' || wasReady ? epoch - inStateMs : null,
        unroutedAt: state === 'draining' && unrouted ? epoch - 3_000 : null,
      }),
    )
    const input = inputOf({
      spec,
      releases,
      endpoints,
      containers: distinct(w.containers.map((c, i) => anyContainerOf(c, i, releases))),
      missingImages: w.missing,
      published: w.published,
      publishedOn: w.publishedOn,
      volumesOn: w.volumesOn,
      removesVolumes: w.removesVolumes,
      volumes: w.volumes,
      failures: w.failures.map((key) => failureOf(key, { generation: releases.length + w.newer })),
      generation: Math.max(1, releases.length + w.newer),
      deleting: w.deleting,
    })
    const story: Story = { fates: w.fates, silence: w.silence, quietUntilMs: w.quietUntilMs, seed: w.seed }
    return { input, story }
  })

type AnyContainer = typeof anyContainer extends fc.Arbitrary<infer T> ? T : never

function anyContainerOf(c: AnyContainer, index: number, releases: Release[]): ObservedContainer {
  const release = releases.find((r) => r.number === c.release) ?? releaseOf(c.release, specOf())
  const ended = c.state === 'exited' || c.state === 'dead'
  return containerOf(release, c.replica, {
    id: `any-${index}`,
    state: c.state,
    exitCode: ended ? c.exitCode : null,
    oomKilled: ended && c.oomKilled,
    endedUnseen: ended && c.endedUnseen,
    restartCount: c.restartCount,
    restartPolicy: c.restartPolicy,
    startedAt: c.state === 'created' ? null : epoch - c.agoMs,
    probe: { ready: c.state === 'running' ? c.ready : null, message: '' },
    ...(c.rightName ? {} : { name: `renamed-${index}` }),
    ...(c.rightHash ? {} : { specHash: 'another' }),
    ...(c.rightAddress ? {} : { address: `10.92.0.${index}` }),
  })
}

/** Docker gives a name once, and an address to one container at a time. */
function distinct(containers: ObservedContainer[]): ObservedContainer[] {
  return containers.filter(
    (c, i) => !containers.slice(0, i).some((earlier) => earlier.name === c.name || earlier.address === c.address),
  )
}
