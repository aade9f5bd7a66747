import type { ApplicationDesired, ApplicationRecord, Dependency, Endpoint, Release } from '../../src/reconcile/application/desired.js'
import { emptyContext, type ApplicationSpec } from '../../src/reconcile/application/spec.js'
import type { Failure } from '../../src/reconcile/backoff.js'
import type { Condition } from '../../src/reconcile/condition.js'
import type { ResourceView } from '../../src/reconcile/controller.js'
import { controllerOf } from '../../src/reconcile/controllers.js'
import type { DomainState, IngressDesired, IngressRecord } from '../../src/reconcile/ingress/desired.js'
import { domainKey } from '../../src/reconcile/ingress/domain.js'
import type { IngressSpec, IngressTarget } from '../../src/reconcile/ingress/spec.js'
import { reconciledKinds } from '../../src/reconcile/kind.js'
import { toPlainText } from '../../src/reconcile/name.js'
import type { Decision } from '../../src/reconcile/loop.js'
import type { NginxdemoSpec } from '../../src/reconcile/nginxdemo/spec.js'
import { firstFixedOffset, fixedAddressesEnd } from '../../src/persistence/addresses.js'
import type { ClaimedPass, DueResource, NodeState, OpenPass, PassOutcome, PassStep, PassStore } from '../../src/persistence/pass-store.js'
import { claimedBy, newDomain, type DesiredState, type NewResource, type StoredResource } from './desired-state.js'

interface Row {
  id: string
  kind: string
  project: string
  name: string
  spec: unknown
  generation: number
  observedGeneration: number
  passNumber: number
  decision: Decision | null
  decisionPass: number
  nextPassDueAt: number | null
  lastPassAt: number | null
  lastError: string | null
  paused: boolean
  deleting: boolean
  releases: Release[]
  endpoints: Endpoint[]
  publishedOn: string[]
  volumesOn: string[]
  removesVolumes: boolean
  failures: Failure[]
  holds: { key: string; generation: number }[]
  conditions: Condition[]
  transitions: { type: string; status: string; at: number }[]
  events: { severity: 'Normal' | 'Warning'; reason: string; message: string; at: number }[]
}

interface NodeRow extends NodeState {
  subnet: string
  createdAt: number
  /** When an address was given back. */
  rested: Map<string, number>
}

interface DomainRow extends DomainState {
  /** When ingress said something new of it. */
  toldAt: number | null
}

const day = 86_400_000
const releasesRead = 10

/** Passes in memory: what PostgresPassStore does, checked by the same contract suite. */
export class MemoryPassStore implements PassStore, DesiredState {
  private readonly rows = new Map<string, Row>()
  private readonly nodes = new Map<string, NodeRow>()
  /** By host and path. */
  private domains = new Map<string, DomainRow>()
  private readonly artifacts = new Map<string, { content: string; at: number; of: string }>()
  private readonly tombstones = new Map<string, { at: number; project: string; name: string; removesVolumes: boolean }>()
  /** One transaction at a time: no time passes in one, so nobody waits. */
  private last: Promise<unknown> = Promise.resolve()

  /** `addressesMost`: fewer than a real network has, so that addresses are used again before long. */
  constructor(private readonly options: { dnsTtlSeconds: number; addressesMost?: number }) {}

  claim(id: string): Promise<ClaimedPass | null> {
    return this.locked(async () => {
      const row = this.rows.get(id)
      if (!row) return null
      row.passNumber++
      return { pass: row.passNumber, resource: this.viewOf(row), desired: this.desiredOf(row), paused: row.paused, nodes: this.nodeStates() }
    })
  }

  peek(id: string): Promise<ClaimedPass | null> {
    return this.locked(async () => {
      const row = this.rows.get(id)
      return row
        ? { pass: row.passNumber, resource: this.viewOf(row), desired: this.desiredOf(row), paused: row.paused, nodes: this.nodeStates() }
        : null
    })
  }

  async draft(): Promise<ClaimedPass | null> {
    return null
  }

  decide(
    id: string,
    pass: number,
    now: number,
    step: PassStep,
  ): Promise<Decision | 'superseded'> {
    return this.locked(async () => {
      const row = this.rows.get(id)
      if (!row || row.passNumber !== pass) return 'superseded'
      if (row.decisionPass === pass && row.decision) return asStored(row.decision)
      const draft = copyOf(row)
      const domains = new Map([...this.domains].map(([key, d]) => [key, { ...d }]))
      const rested = new Map([...this.nodes].map(([node, n]) => [node, new Map(n.rested)]))
      try {
        const outcome = await step(this.openPass(draft, now))
        if (outcome === 'superseded') return outcome
        this.commit(draft, pass, outcome, now)
        return outcome.decision
      } catch (error) {
        for (const [node, times] of rested) this.node(node).rested = times
        this.domains = domains
        throw error
      }
    })
  }

  async dependants(id: string): Promise<DueResource[]> {
    const row = this.rows.get(id)
    if (!row) return []
    const due = (r: Row) => r.kind !== 'ingress' || (r.nextPassDueAt !== null && row.lastPassAt !== null && r.nextPassDueAt <= row.lastPassAt)
    const owners = row.kind === 'ingress' ? [...this.rows.values()].filter((r) => this.hasNews(r)) : []
    return [...new Set([...this.dependantsOf(row).filter(due), ...owners])]
      .filter((r) => !r.paused)
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .map(({ id, kind, project, name }) => ({ id, kind, project, name }))
  }

  private hasNews({ id }: Row): boolean {
    return [...this.domains.values()].some((d) => d.resource === id && d.toldAt !== null)
  }

  private dependantsOf({ id, project, name }: Row): Row[] {
    const hasDomains = [...this.domains.values()].some((d) => d.resource === id)
    return [...this.rows.values()]
      .filter(
        (r) =>
          (r.kind === 'application' && r.project === project && (r.spec as ApplicationSpec).dependsOn?.includes(name)) ||
          (r.kind === 'ingress' && hasDomains),
      )
      .sort((a, b) => (a.id < b.id ? -1 : 1))
  }

  async due(after: string, limit: number, now: number): Promise<DueResource[]> {
    return [...this.rows.values()]
      .filter((r) => r.id > after && !r.paused && (reconciledKinds as readonly string[]).includes(r.kind))
      .filter(
        (r) =>
          r.generation !== r.observedGeneration ||
          r.deleting ||
          r.nextPassDueAt === null ||
          r.nextPassDueAt < now ||
          this.hasNews(r),
      )
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .slice(0, limit)
      .map(({ id, kind, project, name }) => ({ id, kind, project, name }))
  }

  async keepHouse(now: number): Promise<void> {
    for (const [id, { at }] of this.tombstones) if (at < now - 30 * day) this.tombstones.delete(id)
    for (const [nth, [sha256, { at }]] of this.configsNewestFirst()) if (nth > 5 && at < now - day) this.artifacts.delete(sha256)
    for (const row of this.rows.values()) {
      row.events = row.events.filter((e) => e.at >= now - 30 * day)
      row.transitions = row.transitions.filter((t) => t.at >= now - 30 * day)
    }
  }

  /** With which one of its ingress each is. */
  private configsNewestFirst(): [number, [string, { at: number }]][] {
    const newest = [...this.artifacts].sort(([a, { at: atA }], [b, { at: atB }]) => atB - atA || (a < b ? -1 : 1))
    return newest.map((entry, i) => [newest.slice(0, i + 1).filter(([, { of }]) => of === entry[1].of).length, entry])
  }

  async addNode({ id, name, subnet }: { id: string; name: string; subnet: string }, now: number): Promise<void> {
    this.nodes.set(id, { id, name, subnet, createdAt: now, lastSeenAt: null, rested: new Map() })
  }

  async seen(nodeId: string, at: number): Promise<void> {
    this.node(nodeId).lastSeenAt = at
  }

  async create({ id, kind, project, name, spec }: NewResource, now: number): Promise<void> {
    this.rows.set(id, {
      id,
      kind,
      project,
      name,
      spec: asStored(spec),
      generation: 1,
      observedGeneration: 0,
      passNumber: 0,
      decision: null,
      decisionPass: 0,
      nextPassDueAt: null,
      lastPassAt: null,
      lastError: null,
      paused: false,
      deleting: false,
      releases: [],
      endpoints: [],
      publishedOn: [],
      volumesOn: [],
      removesVolumes: false,
      failures: [],
      holds: [],
      conditions: [],
      transitions: [],
      events: [],
    })
    await this.update(id, (row) => this.claimHosts(row, null, now))
  }

  async change(id: string, spec: unknown, now: number): Promise<void> {
    await this.update(id, (row) => {
      const before = row.spec
      row.spec = asStored(spec)
      row.generation++
      this.claimHosts(row, before, now)
    })
  }

  async requestDeletion(id: string, now: number, removesVolumes = false): Promise<void> {
    await this.update(id, (row) => {
      if (row.deleting && row.removesVolumes === removesVolumes) return
      row.deleting = true
      row.removesVolumes = removesVolumes
      row.paused = false
      row.generation++
      if (claimedBy(row.kind, row.spec).length > 0) this.makeIngressesDue(now)
    })
  }

  /** What an application that is being deleted still has may be taken over; what another one has is refused before. */
  private claimHosts({ id, kind, spec }: Row, before: unknown, now: number): void {
    const claimed = new Map(claimedBy(kind, spec).map((d) => [domainKey(d), d]))
    const had = new Map(before === null ? [] : claimedBy(kind, before).map((d) => [domainKey(d), JSON.stringify(d)]))
    if (claimed.size === 0 && had.size === 0) return
    for (const [key, { resource }] of this.domains) if (resource === id && !claimed.has(key)) this.domains.delete(key)
    for (const [key, domain] of claimed) {
      const row = this.domains.get(key)
      if (row?.resource !== id) this.domains.set(key, { ...newDomain(domain, id, now), toldAt: null })
      else if (had.get(key) !== JSON.stringify(domain)) Object.assign(row, { changedAt: now, reason: 'Pending' })
    }
    this.makeIngressesDue(now)
  }

  private makeIngressesDue(now: number): void {
    for (const row of this.rows.values()) if (row.kind === 'ingress') row.nextPassDueAt = now
  }

  async setPaused(id: string, paused: boolean): Promise<void> {
    await this.update(id, (row) => void (row.paused = paused))
  }

  async hold(id: string, key: string): Promise<void> {
    await this.update(id, (row) => void row.holds.push({ key, generation: row.generation }))
  }

  async lookSoon(id: string, now: number): Promise<void> {
    await this.update(id, (row) => void (row.nextPassDueAt = now))
  }

  async read(id: string): Promise<StoredResource | null> {
    const row = this.rows.get(id)
    return row ? { ...copyOf(row), domains: this.domainsOf((d) => d.resource === id) } : null
  }

  async artifact(sha256: string): Promise<string | null> {
    return this.artifacts.get(sha256)?.content ?? null
  }

  private domainsOf(which: (domain: DomainRow) => boolean): DomainState[] {
    return [...this.domains.values()]
      .filter(which)
      .sort((a, b) => (a.host + a.path < b.host + b.path ? -1 : 1))
      .map(({ toldAt: _, ...domain }) => ({ ...domain }))
  }

  async buried(id: string): Promise<boolean> {
    return this.tombstones.has(id) && !this.rows.has(id)
  }

  async revive(late: { id: string; kind: string; node: string }, now: number): Promise<void> {
    const tombstone = this.tombstones.get(late.id)
    if (!tombstone) return
    this.tombstones.delete(late.id)
    const spec = late.kind === 'application' ? { image: 'gone', placement: { node: late.node } } : { hostPort: 1 }
    await this.create({ id: late.id, kind: late.kind, project: tombstone.project, name: tombstone.name, spec }, now)
    await this.update(late.id, (row) => void Object.assign(row, { deleting: true, removesVolumes: tombstone.removesVolumes }))
  }

  async foundOn(node: string, ids: string[], now: number): Promise<string[]> {
    const looksThere = (row: Row) => row.publishedOn.includes(node) || row.endpoints.some((e) => e.node === node)
    const found = ids.filter((id) => {
      const row = this.rows.get(id)
      return row?.kind === 'application' && !looksThere(row)
    })
    for (const id of found)
      await this.update(id, (row) => {
        row.publishedOn = [...row.publishedOn, node].sort()
        row.nextPassDueAt = now
      })
    return found
  }

  async addresses(nodeId: string): Promise<{ held: string[]; rested: string[] }> {
    return { held: this.heldOn(nodeId), rested: [...this.node(nodeId).rested.keys()] }
  }

  private update(id: string, change: (row: Row) => void): Promise<void> {
    return this.locked(async () => {
      const row = this.rows.get(id)
      if (row) change(row)
    })
  }

  private locked<T>(run: () => Promise<T>): Promise<T> {
    const mine = this.last.then(run)
    this.last = mine.catch(() => undefined)
    return mine
  }

  private openPass(draft: Row, now: number): OpenPass {
    return {
      resource: this.viewOf(draft),
      desired: this.desiredOf(draft),
      paused: draft.paused,
      failures: draft.failures.map((f) => ({ ...f })),
      holds: new Set(draft.holds.filter((h) => h.generation === draft.generation).map((h) => h.key)),
      conditions: draft.conditions.map((c) => ({ ...c })),
      write: async (records) => {
        const controller = controllerOf(draft.kind)
        let desired: unknown = this.desiredOf(draft)
        let stored: string | null = null
        let exhausted = false
        for (const record of records) {
          const address = this.writeRecord(draft, record, now)
          desired = controller?.applyRecord(desired, record, { address, now })
          exhausted ||= (desired as Partial<ApplicationDesired>).addressesExhausted === true
          stored = (desired as Partial<IngressDesired>).stored ?? null
        }
        // Read back from what was written, so that applyRecord and the store cannot drift apart unseen.
        const read = this.desiredOf(draft)
        if (draft.kind === 'ingress') return { ...(read as IngressDesired), stored }
        return exhausted ? { ...(read as ApplicationDesired), addressesExhausted: true } : read
      },
    }
  }

  private writeRecord(draft: Row, written: unknown, now: number): string | null {
    if (draft.kind === 'ingress') return this.writeIngressRecord(draft.id, written as IngressRecord, now)
    if (draft.kind !== 'application')
      throw new Error(`kind ${draft.kind} writes no records, yet its plan asked for ${JSON.stringify(written)}`)
    const record = written as ApplicationRecord
    const release = (number: number) =>
      found(
        draft.releases.find((r) => r.number === number),
        `release ${number}`,
      )
    const endpoint = (at: { release: number; replica: number }) =>
      found(
        draft.endpoints.find((e) => e.release === at.release && e.replica === at.replica),
        `endpoint ${at.release}/${at.replica}`,
      )

    switch (record.type) {
      case 'release':
        if (draft.releases.some((r) => r.number === record.release.number))
          throw new Error(`release ${record.release.number} is there already`)
        draft.releases.push({ ...asStored(record.release), verdict: null, servingAt: null, preDeployedAt: null, verdictLog: null })
        return null
      case 'verdict':
        release(record.release).verdict = plain({ reason: record.reason, message: record.message })
        return null
      case 'preDeployed':
        release(record.release).preDeployedAt = now
        return null
      case 'verdictLog':
        release(record.release).verdictLog = record.sha256
        return null
      case 'serving':
        release(record.release).servingAt = now
        return null
      case 'endpoint': {
        if (draft.endpoints.some((e) => e.release === record.release && e.replica === record.replica))
          throw new Error(`endpoint ${record.release}/${record.replica} is there already`)
        const address = this.takeAddress(record.node, draft)
        if (address === null) return null
        draft.endpoints.push({
          release: record.release,
          replica: record.replica,
          node: record.node,
          address,
          state: 'starting',
          stateAt: now,
          readyAt: null,
          unroutedAt: null,
        })
        draft.endpoints.sort((a, b) => a.release - b.release || a.replica - b.replica)
        return address
      }
      case 'endpointState': {
        const changed = endpoint(record)
        if (changed.state !== record.state) changed.stateAt = now
        changed.state = record.state
        changed.unroutedAt = null
        if (record.state === 'ready') changed.readyAt ??= now
        return null
      }
      case 'unrouted':
        endpoint(record).unroutedAt = now
        return null
      case 'endpointGone': {
        const gone = endpoint(record)
        draft.endpoints.splice(draft.endpoints.indexOf(gone), 1)
        this.node(gone.node).rested.set(gone.address, now)
        return null
      }
      case 'published':
        draft.publishedOn.push(record.node)
        draft.publishedOn.sort()
        return null
      case 'unpublished':
        draft.publishedOn = draft.publishedOn.filter((node) => node !== record.node)
        return null
      case 'volumesMade':
        draft.volumesOn.push(record.node)
        draft.volumesOn.sort()
        return null
      case 'volumesGone':
        draft.volumesOn = draft.volumesOn.filter((node) => node !== record.node)
        return null
    }
  }

  private writeIngressRecord(ingress: string, record: IngressRecord, now: number): null {
    if (record.type === 'config') {
      this.artifacts.set(record.sha256, { content: record.content, at: now, of: ingress })
      return null
    }
    for (const row of this.domains.values()) {
      if (record.type === 'certificate' && row.host === record.host) {
        const { seenAt: _, ...before } = row.certificate ?? { seenAt: 0 }
        if (JSON.stringify(before) !== JSON.stringify(record.certificate)) row.toldAt = now
        row.certificate = { ...record.certificate, seenAt: now }
      }
      if (record.type === 'refused' && row.host === record.host && row.path === record.path && row.resource === record.resource)
        row.refusal = { message: record.message, part: record.part, at: now }
      if (record.type === 'route' && row.host === record.host && row.path === record.path && row.resource === record.resource) {
        const { routed, reason, message } = record
        Object.assign(row, { routed, reason, message, toldAt: now })
      }
    }
    return null
  }

  /** Never used first, else given back longest ago; as `takeAddress` of PostgreSQL. */
  private takeAddress(nodeId: string, draft: Row): string | null {
    const node = this.nodes.get(nodeId)
    if (!node) return null
    const held = new Set([
      ...this.heldOn(nodeId, draft.id),
      ...draft.endpoints.filter((e) => e.node === nodeId).map((e) => e.address),
    ])
    const base = toNumber(node.subnet.split('/')[0] ?? '')
    const end = Math.min(fixedAddressesEnd, firstFixedOffset + (this.options.addressesMost ?? Infinity))
    for (let n = firstFixedOffset; n < end; n++) {
      const address = toText(base + n)
      if (!held.has(address) && !node.rested.has(address)) return address
    }
    const [oldest] = [...node.rested].sort((a, b) => a[1] - b[1] || (a[0] < b[0] ? -1 : 1))
    if (!oldest) return null
    node.rested.delete(oldest[0])
    return oldest[0]
  }

  private heldOn(nodeId: string, except?: string): string[] {
    return [...this.rows.values()]
      .filter((r) => r.id !== except)
      .flatMap((r) => r.endpoints.filter((e) => e.node === nodeId).map((e) => e.address))
  }

  private commit(draft: Row, pass: number, outcome: PassOutcome, now: number): void {
    if (outcome.finalize) {
      this.tombstones.set(draft.id, { at: now, project: draft.project, name: draft.name, removesVolumes: draft.removesVolumes })
      this.rows.delete(draft.id)
      for (const [key, { resource }] of this.domains) if (resource === draft.id) this.domains.delete(key)
      return
    }
    for (const { condition, transitioned } of outcome.conditions.filter((c) => c.changed)) {
      draft.conditions = [...draft.conditions.filter((c) => c.type !== condition.type), condition]
      if (transitioned) draft.transitions.push({ type: condition.type, status: condition.status, at: now })
    }
    draft.conditions = draft.conditions.filter((c) => !outcome.droppedConditions.includes(c.type))
    draft.failures = [
      ...draft.failures.filter(
        (f) => !outcome.failures.cleared.includes(f.key) && !outcome.failures.set.some((s) => s.key === f.key),
      ),
      ...outcome.failures.set.map(plain),
    ].sort((a, b) => (a.key < b.key ? -1 : 1))
    draft.events.push(...outcome.events.map((e) => ({ ...plain(e), at: now })))
    draft.decision = asStored(outcome.decision)
    draft.decisionPass = pass
    draft.lastPassAt = now
    draft.lastError = outcome.lastError && toPlainText(outcome.lastError)
    draft.nextPassDueAt = outcome.nextPassDueAt
    if (outcome.observedGeneration !== null) {
      draft.observedGeneration = outcome.observedGeneration
      for (const domain of this.domains.values()) if (domain.resource === draft.id) domain.toldAt = null
    }
    this.rows.set(draft.id, draft)
    const { decision, concernsOthers } = outcome
    for (const row of this.dependantsOf(draft)) if (row.kind === 'ingress' ? concernsOthers : decision.wakes) row.nextPassDueAt = now
  }

  private viewOf({ id, kind, project, name, generation, deleting }: Row): ResourceView {
    return { id, kind, projectId: `proj_${project}`, project, name, generation, deleting }
  }

  private desiredOf(row: Row): unknown {
    const { spec, releases, endpoints, publishedOn, volumesOn, removesVolumes } = copyOf({ ...row, releases: releasesReadOf(row) })
    if (row.kind === 'nginxdemo') return { spec: spec as NginxdemoSpec, node: this.placedOn(undefined) }
    if (row.kind === 'ingress') return this.ingressDesiredOf(spec as IngressSpec)
    const desired: ApplicationDesired = {
      spec: spec as ApplicationSpec,
      context: emptyContext,
      dependencies: ((spec as ApplicationSpec).dependsOn ?? []).map((name) => this.dependency(name)),
      node: this.placedOn((spec as ApplicationSpec).placement?.node),
      releases,
      endpoints,
      publishedOn,
      domains: this.domainsOf((d) => d.resource === row.id),
      volumesOn,
      removesVolumes,
      dnsTtlSeconds: this.options.dnsTtlSeconds,
      addressesExhausted: false,
    }
    return desired
  }

  private ingressDesiredOf(spec: IngressSpec): IngressDesired {
    const node = this.placedOn(spec.node)
    const targets = [...this.rows.values()]
      .filter((r) => !r.deleting && [...this.domains.values()].some((d) => d.resource === r.id))
      .filter((r) => r.publishedOn.includes(node) || this.placedOn((r.spec as ApplicationSpec).placement?.node) === node)
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .map(targetOf)
    const served = new Set(targets.map((t) => t.resource))
    return { spec, node, targets, domains: this.domainsOf((d) => served.has(d.resource)), stored: null }
  }

  private dependency(name: string): Dependency {
    const row = [...this.rows.values()].find((r) => r.kind === 'application' && r.name === name)
    const ready = row?.conditions.find((c) => c.type === 'Ready')
    if (!row) return { name, ready: null }
    const { status = 'Unknown', reason = '', message = '' } = ready ?? {}
    return { name, ready: { status, reason, message, current: ready?.observedGeneration === row.generation } }
  }

  private placedOn(name: string | undefined): string {
    const nodes = this.nodeStates()
    return (name === undefined ? nodes[0] : nodes.find((n) => n.name === name))?.id ?? ''
  }

  private nodeStates(): NodeState[] {
    const joined = [...this.nodes.values()].sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
    return joined.map(({ id, name, lastSeenAt }) => ({ id, name, lastSeenAt }))
  }

  private node(id: string): NodeRow {
    return found(this.nodes.get(id), `node ${id}`)
  }
}

function targetOf({ id: resource, kind, project, name, spec }: Row): IngressTarget {
  const own = { resource, title: `${project}/${name}`, secretVersions: {} }
  if (kind === 'nginxdemo') {
    const { host, hostPort } = spec as NginxdemoSpec
    const domains = host === undefined ? [] : [{ host, tls: 'off' as const }]
    return { ...own, domains, ports: [hostPort], dial: `127.0.0.1:${hostPort}` }
  }
  const { domains = [], ports = [] } = asStored(spec) as ApplicationSpec
  return { ...own, domains, ports, dial: null }
}

/** Everything that a transaction changes in place is a copy; specs and templates are never changed. */
function copyOf(row: Row): Row {
  return {
    ...row,
    releases: row.releases.map((r) => ({ ...r })),
    endpoints: row.endpoints.map((e) => ({ ...e })),
    publishedOn: [...row.publishedOn],
    volumesOn: [...row.volumesOn],
    failures: [...row.failures],
    holds: [...row.holds],
    conditions: [...row.conditions],
    transitions: [...row.transitions],
    events: [...row.events],
  }
}

/** JSON as a database keeps it: without what is undefined. */
/** As a database keeps words of others. */
function plain<T extends { message: string }>(told: T): T {
  return { ...told, message: toPlainText(told.message) }
}

function asStored<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T
}

function found<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`${what} does not exist`)
  return value
}

function toNumber(address: string): number {
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
}

function toText(address: number): string {
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join('.')
}

/** The newest ones, those that still have replicas, and the one that served last. */
function releasesReadOf({ releases, endpoints }: Pick<Row, 'releases' | 'endpoints'>): Row['releases'] {
  const served = releases.findLast((r) => r.servingAt !== null && r.verdict === null)
  const newest = releases.slice(-releasesRead)
  return releases.filter((r) => newest.includes(r) || r === served || endpoints.some((e) => e.release === r.number))
}
