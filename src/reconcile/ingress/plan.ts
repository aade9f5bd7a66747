import { createHash } from 'node:crypto'
import type { Action, ContainerSpecGiven } from '../action.js'
import { awayPollMs } from '../away-poll.js'
import { condition, ready, type ConditionDraft } from '../condition.js'
import type { Controller, Plan, PlanInput, ResourceView } from '../controller.js'
import { canonicalJson, shortHash } from '../hash.js'
import { withTag } from '../name.js'
import type { NodeObservation, ObserveRequest, UnreachableNode } from '../observed.js'
import { currentOf, identityOf, keepOne } from '../one-container.js'
import { certificateRecords, hostsToLookAt, lookAgainMs } from './certificate-looks.js'
import type { DomainState, IngressDesired, IngressRecord } from './desired.js'
import { refusalRecords, standingRefusals } from './refusals.js'
import { renderCaddyConfig } from './render.js'
import { routeRecords } from './told-routes.js'
import { ingressDefaults, ingressPaths, ingressRuntime, type IngressSpec, type Rendered } from './spec.js'

/** Keeps one Caddy on its node and shows it what applications want of it. */
export const ingressController: Controller<IngressDesired, IngressRecord> = {
  kind: 'ingress',
  observeRequests,
  plan: planIngress,
  applyRecord,
  concernsOthers: (record) => record.type === 'route' || record.type === 'certificate',
}

/** Changes that come within this time are loaded as one: every load resets connections that are kept alive. */
export const debounceMs = 150
/** But nobody waits longer than this for others who go on changing. */
const debounceMostMs = 1_000
const stopGraceSeconds = 10

/** What a Caddy that has never been given a configuration starts with: nobody is served by it. */
const bootConfig = canonicalJson({ admin: { listen: `unix/${ingressPaths.adminSocket}|0660`, config: { persist: true } } })
export const bootConfigHash = hashOf(bootConfig)

function hashOf(content: string): string {
  return createHash('sha256').update(content).digest('hex')
}

const imageOf = (spec: IngressSpec) => withTag(spec.image ?? ingressDefaults.image)

function observeRequests(resource: ResourceView, desired: IngressDesired): ObserveRequest[] {
  const { node, spec } = desired
  const ingress = { httpsPort: spec.httpsPort ?? ingressDefaults.httpsPort, hosts: hostsToLookAt(desired) }
  return [{ node, kind: resource.kind, resource: resource.id, images: [imageOf(spec)], connectionsTo: [], ingress }]
}

/** What a pass works with: the configuration as it should be, and what is there. */
interface Work {
  input: PlanInput<IngressDesired>
  node: NodeObservation
  rendered: Rendered
  /** With the domains that Caddy refused: what is wanted. */
  whole: Rendered
  content: string
  sha256: string
}

export function planIngress(input: PlanInput<IngressDesired>): Plan<IngressRecord> {
  const [node] = input.observed
  if (!node) return { records: [], actions: [], conditions: [], requeueAfterMs: null, finalize: false }
  return node.unreachable === null ? planOn(input, node) : unreachable(input, node)
}

function unreachable({ resource }: PlanInput<IngressDesired>, node: UnreachableNode): Plan<IngressRecord> {
  const reason = node.unreachable === 'DockerUnreachable' ? 'DockerUnreachable' : 'NodeUnreachable'
  return {
    records: [],
    actions: [],
    conditions: [ready('Unknown', reason, node.message), condition('ConfigApplied', 'Unknown', 'NotLooked', node.message)],
    requeueAfterMs: awayPollMs(node, resource.id),
    finalize: false,
  }
}

function planOn(input: PlanInput<IngressDesired>, node: NodeObservation): Plan<IngressRecord> {
  const { whole, rendered } = renderedFor(input)
  const content = canonicalJson(rendered.config)
  const work: Work = { input, node, rendered, whole, content, sha256: hashOf(content) }
  const actions = actionsOf(work)
  return {
    records: recordsOf(work, actions),
    actions,
    conditions: [readiness(work, actions), configApplied(work)],
    requeueAfterMs: requeueOf(work),
    forgets: forgottenLoads(work),
    finalize: input.resource.deleting && node.containers.length === 0 && input.inFlight.length === 0,
  }
}

function renderedFor({ desired, now }: PlanInput<IngressDesired>): Pick<Work, 'whole' | 'rendered'> {
  const { spec, targets } = desired
  const whole = renderCaddyConfig(spec, targets, new Map())
  const refused = standingRefusals(desired, whole.config, now)
  return { whole, rendered: refused.size === 0 ? whole : renderCaddyConfig(spec, targets, refused) }
}

/** How other configurations failed, once that does not hold them back any more: each has a key of its own, and few come again. */
function forgottenLoads({ input, sha256 }: Work): string[] {
  return [...input.failures.values()]
    .filter(({ key, nextTryAt }) => key.startsWith(loadKeyStart) && key !== loadKey(sha256) && nextTryAt <= input.now)
    .map(({ key }) => key)
}

function actionsOf(work: Work): Action[] {
  const { input, node } = work
  const { resource, desired } = input
  const wanted = resource.deleting ? null : caddyContainer(input)
  const one = { node, wanted, image: imageOf(desired.spec), stopGraceSeconds }
  const actions = keepOne(one)
  if (actions.length > 0 || wanted === null || currentOf(one)?.state !== 'running') return actions
  return isApplied(work) || debounceLeftMs(work) > 0 ? [] : [load(work, wanted.name)]
}

function isApplied({ node, sha256 }: Work): boolean {
  return node.ingress?.loaded === sha256
}

/** Some configuration is loaded that was given to it, this one or an earlier one. */
function serves({ node }: Work): boolean {
  const loaded = node.ingress?.loaded ?? null
  return loaded !== null && loaded !== bootConfigHash
}

/** How long the configuration waits for more changes; nothing when none is loaded yet. */
function debounceLeftMs(work: Work): number {
  const { input } = work
  if (!serves(work)) return 0
  const waiting = input.desired.domains.flatMap((d) => waitsForMs(d, input.now))
  if (waiting.length === 0) return 0
  return Math.max(0, Math.min(debounceMs - least(waiting), debounceMostMs - most(waiting)))
}

/** Since when a change may wait for its load. One of long ago is old news, unless nothing was said of it yet. */
function waitsForMs({ changedAt, reason }: DomainState, now: number): number[] {
  const age = now - changedAt
  return age >= 0 && (age < debounceMostMs || reason === 'Pending') ? [age] : []
}

const least = (numbers: number[]) => numbers.reduce((a, b) => Math.min(a, b), Infinity)
const most = (numbers: number[]) => numbers.reduce((a, b) => Math.max(a, b), 0)

function recordsOf(work: Work, actions: Action[]): IngressRecord[] {
  const { input, node, rendered, whole, content, sha256 } = work
  if (input.resource.deleting) return []
  const loads = actions.some((a) => a.verb === 'loadIngressConfig')
  const failure = input.failures.get(loadKey(sha256))
  const refused = refusalRecords(input.desired, whole.config, { settled: input.settled, key: loadKey(sha256), now: input.now })
  // They make it another configuration, of which the next round speaks.
  if (refused.length > 0) return refused
  return [
    ...(loads && input.desired.stored !== sha256 ? [{ type: 'config' as const, sha256, content }] : []),
    ...routeRecords(input.desired, rendered, { applied: isApplied(work), failure: failure?.message ?? null }),
    ...certificateRecords(input.desired, node.ingress?.certificates ?? {}, input.now),
  ]
}

function requeueOf(work: Work): number | null {
  const { input, node } = work
  if (input.resource.deleting) return null
  if (node.containers.length === 0) return null
  if (isApplied(work)) return lookAgainMs(input.desired, input.now)
  return debounceLeftMs(work) || null
}

const caddyEnvironment: [string, string][] = [
  ['XDG_DATA_HOME', ingressPaths.data],
  ['XDG_CONFIG_HOME', ingressPaths.config],
  ...ingressRuntime,
]

/** In the host's network, so that it has the clients' addresses and both ports; with no right but to open those. */
function caddyContainer({ instance, resource, desired }: PlanInput<IngressDesired>): ContainerSpecGiven {
  const image = imageOf(desired.spec)
  const own = {
    image,
    command: ['caddy', 'run', '--resume', '--config', '/boot/caddy.json'],
    network: 'host' as const,
    capabilities: ['NET_BIND_SERVICE'],
    env: caddyEnvironment,
    files: [{ path: '/boot/caddy.json', mode: 0o644, content: bootConfig }],
    mounts: [
      { kind: 'state' as const, source: 'endpoints', target: ingressPaths.endpoints, readOnly: true },
      { kind: 'state' as const, source: 'ingress/sockets', target: ingressPaths.sockets, readOnly: false },
      { kind: 'state' as const, source: 'ingress/secrets', target: ingressPaths.secrets, readOnly: true },
      { kind: 'state' as const, source: 'ingress/files', target: ingressPaths.files, readOnly: true },
      { kind: 'state' as const, source: 'ingress/data', target: ingressPaths.data, readOnly: false },
      { kind: 'state' as const, source: 'ingress/config', target: ingressPaths.config, readOnly: false },
    ],
  }
  return {
    ...own,
    ...identityOf(instance, resource, shortHash(own)),
    address: null,
    restartPolicy: 'unless-stopped',
    stopGraceSeconds,
  }
}

const loadKeyStart = 'load:'

/** By content: a configuration that Caddy refused is tried again no sooner because another one came. */
function loadKey(sha256: string): string {
  return `${loadKeyStart}${sha256.slice(0, 12)}`
}

function load({ input, rendered, sha256 }: Work, container: string): Action {
  const domains = rendered.certificates.length
  return {
    key: loadKey(sha256),
    verb: 'loadIngressConfig',
    args: { config: sha256, secrets: rendered.secrets, files: rendered.files },
    node: input.desired.node,
    queue: 'short',
    container,
    // It may have to find out which hosts are refused.
    timeoutSeconds: 180,
    supersedable: false,
    summary: `load configuration ${sha256.slice(0, 12)} with ${input.desired.domains.length} domains, ${domains} of them with a certificate`,
  }
}

function applyRecord(desired: IngressDesired, record: IngressRecord, { now }: { now: number }): IngressDesired {
  switch (record.type) {
    case 'config':
      return { ...desired, stored: record.sha256 }
    case 'route': {
      const { host, path, routed, reason, message } = record
      const domains = desired.domains.map((d) => (d.host === host && d.path === path ? { ...d, routed, reason, message } : d))
      return { ...desired, domains }
    }
    case 'refused': {
      const { host, path, message, part } = record
      const refusal = { message, part, at: now }
      return { ...desired, domains: desired.domains.map((d) => (d.host === host && d.path === path ? { ...d, refusal } : d)) }
    }
    case 'certificate': {
      const certificate = { ...record.certificate, seenAt: now }
      return { ...desired, domains: desired.domains.map((d) => (d.host === record.host ? { ...d, certificate } : d)) }
    }
  }
}

function readiness(work: Work, actions: Action[]): ConditionDraft {
  const { input, node, rendered } = work
  if (input.resource.deleting) return ready('False', 'Deleting', `${node.containers.length} containers are still to be removed`)
  const [next] = actions
  const failure = actions.map((a) => input.failures.get(a.key)).find((f) => f !== undefined)
  const current = node.containers.find((c) => c.state === 'running')
  // What was loaded before a refused configuration goes on serving: that is ConfigApplied's news.
  if (failure && next?.verb !== 'loadIngressConfig') return ready('False', failure.reason, failure.message)
  if (current && serves(work) && (!next || next.verb === 'loadIngressConfig')) {
    const left = rendered.leftOut.length
    return ready(
      'True',
      'Serving',
      `${input.desired.domains.length - left} domains are served${left > 0 ? `, ${left} cannot be` : ''}`,
    )
  }
  if (failure) return ready('False', failure.reason, failure.message)
  if (next?.verb === 'loadIngressConfig') return ready('False', 'ConfigPending', next.summary)
  if (next?.verb === 'pullImage') return ready('False', 'Pulling', next.summary)
  if (next?.verb === 'retireContainer') return ready('False', 'Replacing', next.summary)
  return ready('False', 'Starting', next?.summary ?? 'Caddy ended, and Docker is about to start it again')
}

function configApplied(work: Work): ConditionDraft {
  const { input, sha256, rendered } = work
  const failure = input.failures.get(loadKey(sha256))
  if (input.resource.deleting) return condition('ConfigApplied', 'False', 'Pending', 'the ingress is being deleted')
  if (isApplied(work)) {
    const left = rendered.leftOut.map((l) => `${l.host}${l.path}: ${l.message}`)
    return condition(
      'ConfigApplied',
      'True',
      'Applied',
      left.length > 0 ? `without ${left.slice(0, 10).join('; ')}` : `configuration ${sha256.slice(0, 12)}`,
    )
  }
  if (failure) return condition('ConfigApplied', 'False', failure.reason, failure.message)
  return condition('ConfigApplied', 'False', 'Pending', `configuration ${sha256.slice(0, 12)} is not loaded yet`)
}
