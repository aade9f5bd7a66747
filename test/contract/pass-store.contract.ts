import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ApplicationDesired, ApplicationRecord } from '../../src/reconcile/application/desired.js'
import type { IngressDesired, IngressRecord } from '../../src/reconcile/ingress/desired.js'
import { mergeCondition, type ConditionDraft } from '../../src/reconcile/condition.js'
import type { Decision } from '../../src/reconcile/loop.js'
import type { OpenPass, PassOutcome } from '../../src/persistence/pass-store.js'
import type { AnyStore } from '../simulation/world.js'

export interface StoreUnderTest {
  store: AnyStore
  close(): Promise<void>
}

const now = Date.UTC(2030, 0, 1)
const day = 86_400_000
const node = { id: 'node_1', name: 'n1', subnet: '10.192.0.0/20' }
const spec = { image: 'shop/web:1', replicas: 2 }
const app = { id: 'app_a', kind: 'application', project: 'shop', name: 'web', spec }

/** What every PassStore promises; runs against memory and PostgreSQL. */
export function passStoreContract(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`PassStore in ${name}`, () => {
    let store: AnyStore
    let close: () => Promise<void>
    beforeEach(async () => {
      ;({ store, close } = await open())
      await store.addNode(node, now)
      await store.create(app, now)
    })
    afterEach(() => close())

    const decision = (change: Partial<Decision> = {}): Decision => ({
      superseded: false,
      generation: 1,
      start: [],
      cancel: [],
      requeueAfterMs: null,
      finalized: false,
      paused: false,
      ready: 'Unknown',
      reason: 'Resolving',
      summary: ['one', 'two'],
      ...change,
    })
    const outcome = (change: Partial<PassOutcome> = {}): PassOutcome => ({
      decision: decision(),
      conditions: [],
      droppedConditions: [],
      failures: { set: [], cleared: [] },
      events: [],
      lastError: null,
      nextPassDueAt: now + 60_000,
      observedGeneration: 1,
      finalize: false,
      ...change,
    })
    const claim = async (id = app.id) => {
      const claimed = await store.claim(id)
      if (!claimed) throw new Error(`${id} is not there`)
      return claimed
    }
    /** One whole pass. */
    const pass = async (
      step: (open: OpenPass) => Promise<Partial<PassOutcome>> | Partial<PassOutcome>,
      id = app.id,
      at = now,
    ) => {
      const { pass: number } = await claim(id)
      return store.decide(id, number, at, async (opened) => outcome(await step(opened)))
    }
    const write = (...records: ApplicationRecord[]) =>
      pass(async (opened) => {
        await opened.write(records)
        return {}
      })
    const desired = async (id = app.id) => (await store.peek(id))?.desired as ApplicationDesired
    const endpoint = (replica: number, release = 1): ApplicationRecord => ({ type: 'endpoint', release, replica, node: node.id })
    const gone = (replica: number, release = 1): ApplicationRecord => ({ type: 'endpointGone', release, replica })
    const release = (number: number): ApplicationRecord => ({
      type: 'release',
      release: {
        number,
        generation: 1,
        templateHash: `t${number}`,
        hash: `h${number}`,
        template: { image: 'shop/web:1' },
        resolvedImage: 'r',
        resolvedFrom: 'registry',
      },
    })
    const condition = (draft: Partial<ConditionDraft> = {}, previous: PassOutcome['conditions'] = [], at = now) =>
      mergeCondition(previous[0]?.condition, { type: 'Ready', status: 'False', reason: 'Pulling', message: 'm', ...draft }, 1, at)

    describe('claim', () => {
      it('an unknown resource -> null', async () => expect(await store.claim('app_nobody')).toBeNull())

      it('again and again -> ascending numbers, and a look takes none', async () => {
        const first = await claim()
        await store.peek(app.id)
        const second = await claim()
        expect([first.pass, second.pass]).toEqual([1, 2])
        expect((await store.peek(app.id))?.pass).toBe(2)
      })

      it('at one time -> every caller gets another number', async () => {
        const claims = await Promise.all(Array.from({ length: 5 }, () => claim()))
        expect(claims.map((c) => c.pass).sort()).toEqual([1, 2, 3, 4, 5])
      })

      it('what is desired -> spec, placement and nodes as they are now', async () => {
        await store.seen(node.id, now)
        await store.change(app.id, { ...spec, replicas: 5 }, now)
        const claimed = await claim()
        expect(claimed.resource).toMatchObject({
          id: app.id,
          kind: 'application',
          project: 'shop',
          name: 'web',
          generation: 2,
          deleting: false,
        })
        expect(claimed.desired).toMatchObject({
          spec: { replicas: 5 },
          node: node.id,
          releases: [],
          endpoints: [],
          publishedOn: [],
          volumesOn: [],
          removesVolumes: false,
          dnsTtlSeconds: 5,
        })
        expect(claimed.nodes).toMatchObject([{ id: node.id, name: 'n1', lastSeenAt: now }])
      })

      it('nodes that joined at one moment -> by their ids, and what names none stays on the first whatever is written', async () => {
        await store.addNode({ id: 'node_0', name: 'n0', subnet: '10.192.16.0/20' }, now)
        const homes = []
        for (const seen of ['node_0', node.id, 'node_0']) {
          await store.seen(seen, now + 1)
          const { nodes, desired } = await claim()
          homes.push([nodes.map((n) => n.id), (desired as ApplicationDesired).node])
        }
        expect(homes).toEqual(homes.map(() => [['node_0', node.id], 'node_0']))
      })

      it('placed on a node that is named -> that one; on one that does not exist -> none', async () => {
        await store.addNode({ id: 'node_2', name: 'n2', subnet: '10.192.16.0/20' }, now + 1)
        await store.change(app.id, { ...spec, placement: { node: 'n2' } }, now)
        expect((await desired()).node).toBe('node_2')
        await store.change(app.id, { ...spec, placement: { node: 'n9' } }, now)
        expect((await desired()).node).toBe('')
      })
    })

    describe('decide', () => {
      it('a pass that was claimed again meanwhile -> superseded, and nothing runs', async () => {
        const { pass: old } = await claim()
        await claim()
        let ran = false
        expect(await store.decide(app.id, old, now, async () => ((ran = true), outcome()))).toBe('superseded')
        expect(ran).toBe(false)
      })

      it('a repeat -> the stored decision, and nothing runs', async () => {
        const { pass: number } = await claim()
        const first = await store.decide(app.id, number, now, async () => outcome({ decision: decision({ reason: 'Pulling' }) }))
        const again = await store.decide(app.id, number, now + 5, () => Promise.reject(new Error('it ran twice')))
        expect(again).toEqual(first)
      })

      it('twice at one time -> it runs once', async () => {
        const { pass: number } = await claim()
        let runs = 0
        const step = async () => (runs++, outcome())
        const both = await Promise.all([store.decide(app.id, number, now, step), store.decide(app.id, number, now, step)])
        expect(runs).toBe(1)
        expect(both[0]).toEqual(both[1])
      })

      it('the step fails -> nothing is written, and the pass can be decided again', async () => {
        const { pass: number } = await claim()
        const failing = store.decide(app.id, number, now, async (opened) => {
          await opened.write([release(1), endpoint(0)])
          throw new Error('broken')
        })
        await expect(failing).rejects.toThrow('broken')
        expect(await desired()).toMatchObject({ releases: [], endpoints: [] })
        expect((await store.addresses(node.id)).held).toEqual([])
        expect(await store.decide(app.id, number, now, async () => outcome())).toMatchObject({ superseded: false })
      })

      it('the step finds the pass superseded -> nothing is written, and the pass can be decided again', async () => {
        const { pass: number } = await claim()
        expect(await store.decide(app.id, number, now, async () => 'superseded')).toBe('superseded')
        expect(await store.read(app.id)).toMatchObject({ lastPassAt: null, observedGeneration: 0 })
        expect(await store.decide(app.id, number, now, async () => outcome())).toMatchObject({ superseded: false })
      })

      it('a resource that is gone -> superseded', async () =>
        expect(await store.decide('app_nobody', 1, now, async () => outcome())).toBe('superseded'))

      it('what the pass leaves behind -> is kept', async () => {
        await pass(() => ({ lastError: 'it hurts', nextPassDueAt: now + 7_000, observedGeneration: 1 }))
        expect(await store.read(app.id)).toMatchObject({
          lastError: 'it hurts',
          nextPassDueAt: now + 7_000,
          observedGeneration: 1,
          lastPassAt: now,
        })
      })

      it('a paused pass -> does not say that the generation was looked at', async () => {
        await store.setPaused(app.id, true)
        expect((await claim()).paused).toBe(true)
        await pass(({ paused }) => {
          expect(paused).toBe(true)
          return { observedGeneration: null }
        })
        expect(await store.read(app.id)).toMatchObject({ observedGeneration: 0 })
      })

      it('finalized -> the row is gone with all that belonged to it, and a tombstone stays', async () => {
        await write(release(1), endpoint(0))
        await write({ type: 'endpointState', release: 1, replica: 0, state: 'ready' }, gone(0))
        await pass(() => ({ finalize: true, decision: decision({ finalized: true }) }))
        expect(await store.claim(app.id)).toBeNull()
        expect(await store.read(app.id)).toBeNull()
        expect(await store.buried(app.id)).toBe(true)
        expect(await store.addresses(node.id)).toEqual({ held: [], rested: ['10.192.0.10'] })
      })

      it('a node has something of it, where it does not look -> looks there, and is due; where it looks -> nothing', async () => {
        await write(release(1), endpoint(0))
        expect(await store.foundOn(node.id, [app.id, 'app_nobody'], now)).toEqual([])
        expect(await store.foundOn('node_left', [app.id, 'app_nobody'], now + 1)).toEqual([app.id])
        expect(await store.foundOn('node_left', [app.id], now + 2)).toEqual([])
        expect((await desired()).publishedOn).toEqual(['node_left'])
        expect((await store.read(app.id))?.nextPassDueAt).toBe(now + 1)
      })

      it('finalized with words of an engine that no database takes -> gone all the same', async () => {
        const events = [{ severity: 'Warning' as const, reason: 'EngineError', message: 'words\0' }]
        await pass(() => ({ finalize: true, decision: decision({ finalized: true }), events }))
        expect(await store.buried(app.id)).toBe(true)
      })

      it('containers of a deleted resource turn up -> it comes back as one that is being deleted', async () => {
        await pass(() => ({ finalize: true, decision: decision({ finalized: true }) }))
        await store.revive({ id: app.id, kind: 'application', node: 'n1' }, now)
        expect((await store.peek(app.id))?.resource.deleting).toBe(true)
        expect(await store.buried(app.id)).toBe(false)
      })
    })

    describe('records', () => {
      it('a release -> kept as it was given, and told to the next pass', async () => {
        await write(release(1), release(2))
        const { releases } = await desired()
        expect(releases.map((r) => r.number)).toEqual([1, 2])
        expect(releases[0]).toMatchObject({
          hash: 'h1',
          template: { image: 'shop/web:1' },
          resolvedFrom: 'registry',
          verdict: null,
          servingAt: null,
        })
      })

      it('the same release twice -> refused', async () => {
        await write(release(1))
        await expect(write(release(1))).rejects.toThrow()
      })

      it('verdict and serving -> on that release only', async () => {
        await write(
          release(1),
          release(2),
          { type: 'serving', release: 1 },
          { type: 'verdict', release: 2, reason: 'OOMKilled', message: 'm' },
        )
        const { releases } = await desired()
        expect(releases.map((r) => [r.servingAt, r.verdict])).toEqual([
          [now, null],
          [null, { reason: 'OOMKilled', message: 'm' }],
        ])
      })

      it('more releases than are read -> the newest, the one that served last, and those that have replicas, ascending', async () => {
        await write(...Array.from({ length: 23 }, (_, i) => release(i + 1)))
        await write({ type: 'serving', release: 2 }, { type: 'serving', release: 5 }, endpoint(0))
        const { releases } = await desired()
        const newest = Array.from({ length: 10 }, (_, i) => i + 14)
        expect(releases.map((r) => r.number)).toEqual([1, 5, ...newest])
      })

      it('an endpoint -> gets an address, and the pass sees it', async () => {
        await pass(async (opened) => {
          const after = (await opened.write([release(1), endpoint(1), endpoint(0)])) as ApplicationDesired
          expect(after.endpoints.map((e) => e.address).sort()).toEqual(['10.192.0.10', '10.192.0.11'])
          return {}
        })
        expect((await desired()).endpoints).toMatchObject([
          { replica: 0, address: '10.192.0.11', state: 'starting', stateAt: now, readyAt: null, unroutedAt: null },
          { replica: 1, address: '10.192.0.10' },
        ])
      })

      it('published and unpublished -> the nodes between, in order', async () => {
        await write(
          { type: 'published', node: 'node_2' },
          { type: 'published', node: 'node_1' },
          { type: 'published', node: 'node_3' },
        )
        expect((await desired()).publishedOn).toEqual(['node_1', 'node_2', 'node_3'])
        await write({ type: 'unpublished', node: 'node_2' })
        expect((await desired()).publishedOn).toEqual(['node_1', 'node_3'])
      })

      it('volumes made and gone -> the nodes between, in order', async () => {
        await write({ type: 'volumesMade', node: 'node_2' }, { type: 'volumesMade', node: 'node_1' })
        expect((await desired()).volumesOn).toEqual(['node_1', 'node_2'])
        await write({ type: 'volumesGone', node: 'node_1' })
        expect((await desired()).volumesOn).toEqual(['node_2'])
      })

      it('the same endpoint twice -> refused', async () => {
        await write(release(1), endpoint(0))
        await expect(write(endpoint(0))).rejects.toThrow()
      })

      it('ready, draining, unrouted, revived -> the first Ready stays known, unrouted is forgotten with each change', async () => {
        const state = (to: 'ready' | 'draining' | 'starting'): ApplicationRecord => ({
          type: 'endpointState',
          release: 1,
          replica: 0,
          state: to,
        })
        await write(release(1), endpoint(0), state('ready'))
        await write(state('draining'), { type: 'unrouted', release: 1, replica: 0 })
        expect((await desired()).endpoints).toMatchObject([{ state: 'draining', readyAt: now, unroutedAt: now }])
        await pass(async (opened) => (await opened.write([state('starting'), state('ready')]), {}), app.id, now + 9_000)
        expect((await desired()).endpoints).toMatchObject([{ state: 'ready', readyAt: now, unroutedAt: null }])
      })

      it('a state that it is in already -> unrouted is forgotten, since when it holds is not', async () => {
        const draining: ApplicationRecord = { type: 'endpointState', release: 1, replica: 0, state: 'draining' }
        const later =
          (...records: ApplicationRecord[]) =>
          async (opened: OpenPass) => (await opened.write(records), {})
        await write(release(1), endpoint(0))
        await pass(later(draining, { type: 'unrouted', release: 1, replica: 0 }), app.id, now + 5_000)
        await pass(later(draining), app.id, now + 9_000)
        expect((await desired()).endpoints).toMatchObject([{ state: 'draining', stateAt: now + 5_000, unroutedAt: null }])
      })

      it('the state of an endpoint that is not there -> refused', async () => {
        await write(release(1))
        await expect(write({ type: 'endpointState', release: 1, replica: 7, state: 'ready' })).rejects.toThrow()
      })

      it('addresses -> those never used first, then the one that rests longest', async () => {
        await write(release(1), endpoint(0), endpoint(1), endpoint(2))
        await pass(async (opened) => (await opened.write([gone(1)]), {}), app.id, now + 1_000)
        await pass(async (opened) => (await opened.write([gone(0)]), {}), app.id, now + 2_000)
        await write(endpoint(3))
        expect((await desired()).endpoints.map((e) => e.address)).toEqual(['10.192.0.12', '10.192.0.13'])
        expect((await store.addresses(node.id)).rested.sort()).toEqual(['10.192.0.10', '10.192.0.11'])
      })

      it('two resources at one time -> never the same address', async () => {
        const ids = ['app_b', 'app_c', 'app_d']
        for (const id of ids) await store.create({ ...app, id, name: id.replace('_', '-') }, now)
        await Promise.all(
          ids.map((id) => pass(async (opened) => (await opened.write([release(1), endpoint(0), endpoint(1)]), {}), id)),
        )
        const held = (await store.addresses(node.id)).held
        expect(held).toHaveLength(6)
        expect(new Set(held).size).toBe(6)
      })

      it('a node without a network -> told as exhausted, and nothing is written', async () => {
        await pass(async (opened) => {
          const after = (await opened.write([
            release(1),
            { type: 'endpoint', release: 1, replica: 0, node: 'node_nowhere' },
          ])) as ApplicationDesired
          expect(after).toMatchObject({ addressesExhausted: true, endpoints: [] })
          return {}
        })
      })
    })

    describe('conditions, failures, holds', () => {
      it('a condition that only changes its words -> no transition, the same transition time', async () => {
        const first = [condition()]
        await pass(() => ({ conditions: first }))
        await pass(() => ({ conditions: [condition({ message: 'other words' }, first, now + 5_000)] }), app.id, now + 5_000)
        expect(await store.read(app.id)).toMatchObject({
          conditions: [{ type: 'Ready', message: 'other words', lastTransitionAt: now, observedGeneration: 1 }],
          transitions: [{ type: 'Ready', status: 'False' }],
        })
      })

      it('a condition that changes its status -> a transition more', async () => {
        const first = [condition()]
        await pass(() => ({ conditions: first }))
        await pass(() => ({ conditions: [condition({ status: 'True' }, first, now + 5_000)] }))
        const row = await store.read(app.id)
        expect(row?.transitions.map((t) => t.status)).toEqual(['False', 'True'])
        expect(row?.conditions[0]?.lastTransitionAt).toBe(now + 5_000)
      })

      // An engine's words hold those of others: arguments, paths, what a registry answered.
      it('words of others with NUL or half a character -> told as far as can be', async () => {
        const message = 'words\0of \ud83d'
        const failure = { key: 'k', generation: 1, count: 1, reason: 'EngineError', message, retryable: true, nextTryAt: now }
        await pass(async (opened) => {
          await opened.write([release(1), { type: 'verdict', release: 1, reason: 'ContainerExited', message }])
          return {
            conditions: [condition({ message })],
            events: [{ severity: 'Warning', reason: 'Ready', message }],
            failures: { set: [failure], cleared: [] },
            decision: decision({ summary: [message] }),
            lastError: message,
          }
        })
        const told = await store.read(app.id)
        const texts = [told?.conditions[0], told?.events.at(-1), told?.failures[0], told?.releases[0]?.verdict]
        expect([...new Set([...texts.map((t) => t?.message), told?.lastError])]).toEqual(['words\uFFFDof \uFFFD'])
      })

      it('conditions -> told to the next pass; one that is dropped is gone', async () => {
        await pass(() => ({ conditions: [condition(), condition({ type: 'Available' })] }))
        await pass(({ conditions }) => {
          expect(conditions.map((c) => c.type).sort()).toEqual(['Available', 'Ready'])
          return { droppedConditions: ['Available'] }
        })
        expect((await store.read(app.id))?.conditions.map((c) => c.type)).toEqual(['Ready'])
      })

      it('failures -> set, replaced by key, cleared', async () => {
        const failure = {
          key: 'pull:x',
          generation: 1,
          count: 1,
          reason: 'EngineError',
          message: 'm',
          retryable: true,
          nextTryAt: now + 1_000,
        }
        await pass(() => ({ failures: { set: [failure, { ...failure, key: 'other' }], cleared: [] } }))
        await pass(({ failures }) => {
          expect(failures.find((f) => f.key === 'pull:x')).toEqual(failure)
          return { failures: { set: [{ ...failure, count: 2, retryable: false }], cleared: ['other'] } }
        })
        expect((await store.read(app.id))?.failures).toEqual([{ ...failure, count: 2, retryable: false }])
      })

      it('failures -> in the order of their keys, whichever was written last', async () => {
        const failure = { generation: 1, count: 1, reason: 'EngineError', message: 'm', retryable: true, nextTryAt: now }
        const set = (...keys: string[]) => pass(() => ({ failures: { set: keys.map((key) => ({ ...failure, key })), cleared: [] } }))
        await set('publish:b', 'publish:a')
        await set('publish:b')
        await set('publish:a')
        expect((await store.read(app.id))?.failures.map((f) => f.key)).toEqual(['publish:a', 'publish:b'])
      })

      it('a hold -> for its generation only', async () => {
        await store.hold(app.id, 'pull:x')
        await pass(({ holds }) => {
          expect([...holds]).toEqual(['pull:x'])
          return {}
        })
        await store.change(app.id, { ...spec, replicas: 3 }, now)
        await pass(({ holds }) => {
          expect([...holds]).toEqual([])
          return {}
        })
      })

      it('events -> kept in their order', async () => {
        await pass(() => ({
          events: [
            { severity: 'Normal', reason: 'A', message: 'a' },
            { severity: 'Warning', reason: 'B', message: 'b' },
          ],
        }))
        expect((await store.read(app.id))?.events.map((e) => e.reason)).toEqual(['A', 'B'])
      })
    })

    describe('due', () => {
      const due = async (at = now) => (await store.due('', 100, at)).map((r) => r.id)
      const settle = () => pass(() => ({}))

      it('never looked at -> due', async () => {
        expect(await store.due('', 100, now)).toEqual([{ id: app.id, kind: 'application', project: 'shop', name: 'web' }])
      })

      it('in step, its time not come -> not due; later -> due', async () => {
        await settle()
        expect(await due()).toEqual([])
        expect(await due(now + 60_001)).toEqual([app.id])
      })

      it('a nudge failed -> due at once', async () => {
        await settle()
        await store.lookSoon(app.id, now)
        expect(await due(now + 1)).toEqual([app.id])
      })

      it('changed -> due; deletion asked for -> due', async () => {
        await settle()
        await store.change(app.id, { ...spec, replicas: 3 }, now)
        expect(await due()).toEqual([app.id])
        await pass(() => ({ observedGeneration: 2 }))
        await store.requestDeletion(app.id, now)
        await pass(() => ({ observedGeneration: 3 }))
        expect(await due()).toEqual([app.id])
      })

      it('paused -> never due', async () => {
        await store.setPaused(app.id, true)
        expect(await due()).toEqual([])
      })

      it('what it depends on has become Ready -> due at once, and named; others are not', async () => {
        const needy = { ...app, id: 'app_n', name: 'needy', spec: { ...spec, dependsOn: ['web'] } }
        const stranger = { ...needy, id: 'app_s', name: 'stranger', project: 'elsewhere' }
        for (const draft of [needy, stranger]) await store.create(draft, now)
        for (const id of [app.id, needy.id, stranger.id]) await pass(() => ({}), id)
        expect(await due()).toEqual([])
        await pass(() => ({ decision: decision({ wakes: true }) }))
        expect(await due(now + 1)).toEqual([needy.id])
        expect(await store.dependants(app.id)).toEqual([{ id: needy.id, kind: 'application', project: 'shop', name: 'needy' }])
        expect((await desired(needy.id)).dependencies).toEqual([{ name: 'web', ready: { status: 'Unknown', reason: '', message: '', current: false } }])
      })

      it('what it depends on is Ready for its generation -> told to the next pass; not there -> told too', async () => {
        await store.create({ ...app, id: 'app_n', name: 'needy', spec: { ...spec, dependsOn: ['web', 'nobody'] } }, now)
        const ready = { type: 'Ready', status: 'True', reason: 'Running', message: 'fine' } as const
        await pass(() => ({ conditions: [mergeCondition(undefined, ready, 1, now)] }))
        expect((await desired('app_n')).dependencies).toEqual([
          { name: 'web', ready: { status: 'True', reason: 'Running', message: 'fine', current: true } },
          { name: 'nobody', ready: null },
        ])
      })

      it('pages -> ascending by id, each row once; nodes have no loop', async () => {
        for (const id of ['app_c', 'app_b']) await store.create({ ...app, id, name: id.replace('_', '-') }, now)
        const first = await store.due('', 2, now)
        const second = await store.due(first.at(-1)?.id ?? '', 2, now)
        expect([...first, ...second].map((r) => r.id)).toEqual(['app_a', 'app_b', 'app_c'])
      })
    })

    describe('ingress', () => {
      const ingress = { id: 'ing_1', kind: 'ingress', project: 'platform', name: 'edge', spec: {} }
      const shop = { ...app, id: 'app_s', name: 'shop', spec: { ...spec, ports: [8080], domains: [{ host: 'shop.test' }, { host: 'a.test', path: '/api' }] } }
      const wanted = async (id = ingress.id) => (await store.peek(id))?.desired as IngressDesired
      const told = (...records: IngressRecord[]) =>
        pass(async (opened) => (await opened.write(records), {}), ingress.id, now + 1_000)
      const route = (change: Partial<Extract<IngressRecord, { type: 'route' }>> = {}): IngressRecord => ({
        type: 'route',
        resource: shop.id,
        host: 'shop.test',
        path: '/',
        routed: true,
        reason: 'Routed',
        message: '',
        ...change,
      })
      const certificate = { issuer: 'CA', notAfter: now + day, error: null }
      const seen = (change: Partial<typeof certificate> = {}, host = 'shop.test'): IngressRecord => ({
        type: 'certificate',
        host,
        certificate: { ...certificate, ...change },
      })
      const due = async () => (await store.due('', 100, now + 2_000)).map((r) => r.id)
      const dependants = async () => (await store.dependants(ingress.id)).map((r) => r.id)
      const secondNode = { id: 'node_2', name: 'n2', subnet: '10.192.16.0/20' }

      beforeEach(async () => {
        await store.create(ingress, now)
        await store.create(shop, now)
        for (const id of [app.id, shop.id, ingress.id]) await pass(() => ({}), id)
      })

      it('an application with domains -> its target and what was told of them; one without -> nothing', async () => {
        const fresh = { resource: shop.id, changedAt: now, routed: false, reason: 'Pending', message: '', certificate: null, refusal: null }
        expect(await wanted()).toEqual({
          spec: {},
          node: node.id,
          targets: [{ resource: shop.id, title: 'shop/shop', domains: shop.spec.domains, ports: [8080], dial: null, secretVersions: {} }],
          domains: [
            { host: 'a.test', path: '/api', ...fresh },
            { host: 'shop.test', path: '/', ...fresh },
          ],
          stored: null,
        })
      })

      it('an application -> sees its own domains and no other', async () => {
        expect((await desired(shop.id)).domains.map((d) => d.host)).toEqual(['a.test', 'shop.test'])
        expect((await desired()).domains).toEqual([])
      })

      it('a demo with a host -> dialled where it always is, without TLS; one without -> nothing', async () => {
        const demo = { id: 'demo_1', kind: 'nginxdemo', project: 'platform', name: 'nginx', spec: { hostPort: 8090, host: 'nginx.test' } }
        await store.create(demo, now)
        await store.create({ ...demo, id: 'demo_2', name: 'other', spec: { hostPort: 8091 } }, now)
        const { targets, domains } = await wanted()
        expect(targets.filter((t) => t.resource.startsWith('demo'))).toEqual([
          { resource: 'demo_1', title: 'platform/nginx', domains: [{ host: 'nginx.test', tls: 'off' }], ports: [8090], dial: '127.0.0.1:8090', secretVersions: {} },
        ])
        expect(domains.map((d) => d.host)).toContain('nginx.test')
      })

      it('placed on another node -> served by the ingress of that one; on its way -> by both', async () => {
        await store.addNode(secondNode, now + 1)
        const other = { ...ingress, id: 'ing_2', name: 'edge-2', spec: { node: 'n2' } }
        await store.create(other, now)
        const served = async () => Promise.all([ingress.id, other.id].map(async (id) => (await wanted(id)).domains.length))
        expect(await served()).toEqual([2, 0])
        await pass(async (opened) => (await opened.write([{ type: 'published', node: node.id }]), {}), shop.id)
        await store.change(shop.id, { ...shop.spec, placement: { node: 'n2' } }, now)
        expect(await served()).toEqual([2, 2])
        await pass(async (opened) => (await opened.write([{ type: 'unpublished', node: node.id }]), {}), shop.id)
        expect(await served()).toEqual([0, 2])
      })

      it('being deleted -> left out, with its domains; gone -> so are they', async () => {
        await store.requestDeletion(shop.id, now)
        expect(await wanted()).toMatchObject({ targets: [], domains: [] })
        await pass(() => ({ finalize: true, decision: decision({ finalized: true }) }), shop.id)
        expect(await wanted()).toMatchObject({ targets: [], domains: [] })
      })

      it('an application with domains has news for others -> every ingress is due, and named; else, and without domains -> none', async () => {
        await pass(() => ({ decision: decision({ wakes: true }) }))
        expect([await due(), await store.dependants(app.id)]).toEqual([[], []])
        await pass(() => ({ decision: decision({ wakes: true }) }), shop.id)
        expect([await due(), await store.dependants(shop.id)]).toEqual([[], []])
        await pass(() => ({ decision: decision({ wakes: true }), concernsOthers: true }), shop.id)
        expect(await due()).toEqual([ingress.id])
        expect(await store.dependants(shop.id)).toEqual([{ id: ingress.id, kind: 'ingress', project: 'platform', name: 'edge' }])
      })

      it('a route -> told to its owner by the next pass, which is due and named until it had one', async () => {
        expect([await due(), await dependants()]).toEqual([[], []])
        await told(route())
        expect([await due(), await dependants()]).toEqual([[shop.id], [shop.id]])
        expect((await desired(shop.id)).domains).toMatchObject([
          { host: 'a.test', routed: false, reason: 'Pending' },
          { host: 'shop.test', routed: true, reason: 'Routed' },
        ])
        await pass(() => ({}), shop.id, now + 1_500)
        expect([await due(), await dependants()]).toEqual([[], []])
      })

      it('told by a clock that is behind -> its owner is due all the same', async () => {
        await pass(() => ({}), shop.id, now + 60_000)
        await told(route())
        expect([await due(), await dependants()]).toEqual([[shop.id], [shop.id]])
      })

      it('told while its owner decides, which does not see it any more -> is due afterwards', async () => {
        await pass(
          async () => {
            // Where one transaction waits for the other, it is told when this one is over.
            const telling = told(route())
            await Promise.race([telling, new Promise((resolve) => setTimeout(resolve, 300))])
            void telling.catch(() => undefined)
            return {}
          },
          shop.id,
          now + 5_000,
        )
        await expect.poll(due).toEqual([shop.id])
        await pass(() => ({}), shop.id, now + 6_000)
        expect([await due(), (await desired(shop.id)).domains[1]?.routed]).toEqual([[], true])
      })

      it('a route of what somebody else has by now -> nothing', async () => {
        await told(route({ resource: 'app_gone' }))
        expect((await wanted()).domains.map((d) => d.routed)).toEqual([false, false])
        expect(await due()).toEqual([])
      })

      it('a paused owner -> is not woken', async () => {
        await store.setPaused(shop.id, true)
        await told(route())
        expect([await due(), await dependants()]).toEqual([[], []])
      })

      it('the pass fails -> nothing was told', async () => {
        const failing = pass(
          async (opened) => {
            await opened.write([route(), seen()])
            throw new Error('broken')
          },
          ingress.id,
        )
        await expect(failing).rejects.toThrow('broken')
        expect((await wanted()).domains.map((d) => [d.routed, d.certificate])).toEqual([
          [false, null],
          [false, null],
        ])
        expect(await due()).toEqual([])
      })

      it('a certificate -> of every path of the host, and of no other host; its owner is due', async () => {
        await store.change(shop.id, { ...shop.spec, domains: [...shop.spec.domains, { host: 'shop.test', path: '/api' }] }, now)
        for (const id of [shop.id, ingress.id]) await pass(() => ({ observedGeneration: id === shop.id ? 2 : 1 }), id)
        await told(seen())
        const state = { ...certificate, seenAt: now + 1_000 }
        expect((await wanted()).domains.map((d) => [d.host, d.path, d.certificate])).toEqual([
          ['a.test', '/api', null],
          ['shop.test', '/', state],
          ['shop.test', '/api', state],
        ])
        expect(await due()).toEqual([shop.id])
      })

      it('the same certificate again -> when it was looked at counts, and nobody is woken; another one -> its owner is', async () => {
        await told(seen())
        await pass(() => ({}), shop.id, now + 1_000)
        await pass(async (opened) => (await opened.write([seen()]), {}), ingress.id, now + 1_500)
        expect((await wanted()).domains[1]?.certificate?.seenAt).toBe(now + 1_500)
        expect(await due()).toEqual([])
        const changes: Partial<typeof certificate>[] = [{ notAfter: now + 2 * day }, { error: 'rate limited' as never }, { issuer: 'another' }]
        for (const [i, change] of changes.entries()) {
          const at = now + 1_600 + i * 100
          await pass(async (opened) => (await opened.write([seen(change)]), {}), ingress.id, at)
          expect(await due()).toEqual([shop.id])
          await pass(() => ({}), shop.id, at + 50)
        }
      })

      it('a certificate that there is not -> kept as what it is', async () => {
        const none = { issuer: null, notAfter: null, error: 'there is none yet' }
        await told({ type: 'certificate', host: 'shop.test', certificate: none })
        expect((await wanted()).domains[1]?.certificate).toEqual({ ...none, seenAt: now + 1_000 })
      })

      it('a configuration -> kept under its hash, known to this pass alone; again -> no failure', async () => {
        const record = { type: 'config' as const, sha256: 'a'.repeat(64), content: '{"apps":{}}' }
        for (let i = 0; i < 2; i++)
          await pass(async (opened) => {
            expect(((await opened.write([record])) as IngressDesired).stored).toBe(record.sha256)
            return {}
          }, ingress.id)
        expect(await store.artifact(record.sha256)).toBe(record.content)
        expect((await wanted()).stored).toBeNull()
      })

      const refused = (change: Partial<Extract<IngressRecord, { type: 'refused' }>> = {}): IngressRecord => ({
        type: 'refused',
        resource: shop.id,
        host: 'shop.test',
        path: '/',
        message: 'no such thing',
        part: 'f00',
        ...change,
      })

      it('a refusal -> of its domain, and of no other; its owner is told by its route alone', async () => {
        await told(refused())
        const refusal = { message: 'no such thing', part: 'f00', at: now + 1_000 }
        expect((await wanted()).domains.map((d) => [d.host, d.refusal])).toEqual([['a.test', null], ['shop.test', refusal]])
        expect((await desired(shop.id)).domains.map((d) => d.refusal)).toEqual([null, refusal])
        expect(await due()).toEqual([])
        await pass(async (opened) => (await opened.write([refused({ part: 'ba4' })]), {}), ingress.id, now + 1_500)
        expect((await wanted()).domains[1]?.refusal).toEqual({ ...refusal, part: 'ba4', at: now + 1_500 })
      })

      it('a refusal of what somebody else has by now -> nobody is refused', async () => {
        await told(refused({ resource: app.id }))
        expect((await wanted()).domains.map((d) => d.refusal)).toEqual([null, null])
      })

      it('a domain that is given back and claimed anew -> without the refusal', async () => {
        await told(refused())
        await store.change(shop.id, { ...shop.spec, domains: [] }, now)
        await store.change(shop.id, shop.spec, now)
        expect((await wanted()).domains.map((d) => d.refusal)).toEqual([null, null])
      })

      it('a thousand domains -> all of them, in order', async () => {
        const domains = Array.from({ length: 1_000 }, (_, i) => ({ host: `d${String(i).padStart(4, '0')}.test` }))
        await store.change(shop.id, { ...shop.spec, domains }, now)
        const { domains: found, targets } = await wanted()
        expect(found.map((d) => d.host)).toEqual(domains.map((d) => d.host))
        expect(targets[0]?.domains).toHaveLength(1_000)
      })
    })

    describe('keepHouse', () => {
      it('configurations of an ingress -> those of a day, and the last five; of another one: its own', async () => {
        const sha = (letter: string, n: number) => `${letter}${n}`.padEnd(64, '0')
        for (const [id, count] of [['ing_1', 8], ['ing_2', 2]] as const) {
          await store.create({ id, kind: 'ingress', project: 'platform', name: id, spec: {} }, now)
          for (let n = 0; n < count; n++) {
            const record: IngressRecord = { type: 'config', sha256: sha(id === 'ing_1' ? 'a' : 'b', n), content: '{}' }
            await pass(async (opened) => (await opened.write([record]), {}), id, now + n * 1_000)
          }
        }
        const kept = async () => {
          const all = [...Array(8).keys()].map((n) => sha('a', n)).concat(sha('b', 0), sha('b', 1))
          const found = await Promise.all(all.map(async (s) => ((await store.artifact(s)) === null ? '' : s.slice(0, 2))))
          return found.join(' ').trim()
        }
        await store.keepHouse(now + day)
        expect(await kept()).toBe('a0 a1 a2 a3 a4 a5 a6 a7 b0 b1')
        await store.keepHouse(now + day + 1_001)
        expect(await kept()).toBe('a2 a3 a4 a5 a6 a7 b0 b1')
        // Stored again, because it is to be loaded again.
        await pass(async (opened) => (await opened.write([{ type: 'config', sha256: sha('a', 3), content: '{}' }]), {}), 'ing_1', now + 9_000)
        await store.keepHouse(now + 9 * day)
        expect(await kept()).toBe('a3 a4 a5 a6 a7 b0 b1')
      })

      it('tombstones, events and transitions -> 30 days, and no longer', async () => {
        await store.create({ ...app, id: 'app_b', name: 'b' }, now)
        await pass(() => ({ events: [{ severity: 'Normal', reason: 'A', message: 'a' }], conditions: [condition()] }))
        await pass(() => ({ finalize: true }), 'app_b')
        await store.keepHouse(now + 29 * day)
        expect(await store.buried('app_b')).toBe(true)
        expect((await store.read(app.id))?.events).toHaveLength(1)
        await store.keepHouse(now + 31 * day)
        expect(await store.buried('app_b')).toBe(false)
        expect(await store.read(app.id)).toMatchObject({ events: [], transitions: [], conditions: [{ type: 'Ready' }] })
      })
    })
  })
}
