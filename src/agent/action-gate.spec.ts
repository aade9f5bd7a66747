import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { generateSigningKey, signingKeyOf, signPayload, type SignedPayload } from '../adapters/crypto/signing.js'
import { ActionGate } from './action-gate.js'
import { FenceJournal } from './fences.js'
import { OwnEffects } from './own-effects.js'

const { privatePem, pinned } = generateSigningKey()
const key = signingKeyOf(privatePem)
const never = new AbortController().signal

describe('ActionGate', () => {
  let now = 1_000
  let gate: ActionGate
  let effects: OwnEffects
  let late: string[]
  beforeEach(() => {
    now = 1_000
    late = []
    effects = new OwnEffects({ now: () => now })
    gate = new ActionGate({
      instance: 'i',
      node: 'n',
      pinnedKeys: [pinned],
      fences: FenceJournal.open(join(mkdtempSync(join(tmpdir(), 'gate-')), 'f'), now),
      effects,
      controlNow: () => now,
      onLate: ({ resource }) => late.push(resource),
    })
  })

  const payload = (change: Partial<SignedPayload> = {}): SignedPayload => ({
    instance: 'i',
    node: 'n',
    kind: 'application',
    resource: 'app_a',
    key: 'ensure:1:0',
    generation: 1,
    pass: 1,
    verb: 'ensureContainer',
    args: {},
    container: 'c0',
    signedAt: 1_000,
    notAfter: 50_000,
    ...change,
  })
  const sign = (change: Partial<SignedPayload> = {}) => signPayload(payload(change), key)
  /** An action that runs until it is let go. */
  const held = () => {
    let release!: () => void
    const done = new Promise<void>((resolve) => (release = resolve))
    return { release, run: () => done }
  }
  const soon = () => new Promise((resolve) => setTimeout(resolve, 5))

  it.each([
    ['in time', 2_000, []],
    ['after the loop may have given it up', 20_000, ['app_a']],
  ])('an action ends %s -> told accordingly, also when it failed', async (_, endsAt, told) => {
    await gate.admit(sign(), new AbortController().signal, async () => void (now = endsAt))
    await gate.admit(sign(), new AbortController().signal, () => Promise.reject(new Error('no'))).catch(() => undefined)
    expect(late).toEqual([...told, ...told])
  })

  it('a configuration of an older pass arrives after another one was loaded -> refused: it would bring back what was', async () => {
    const load = (pass: number, content: string) =>
      sign({ resource: 'ing_a', verb: 'loadIngressConfig', key: `load:${content}`, pass, container: 'caddy' })
    await gate.admit(load(6, 'new'), never, async () => undefined)
    await expect(gate.admit(load(4, 'old'), never, async () => undefined)).rejects.toThrow('too late')
    await gate.admit(load(7, 'old'), never, async () => undefined)
  })

  it.each([
    ['another instance', sign({ instance: 'other' }), /instance other/],
    ['another node', sign({ node: 'other' }), /node other/],
    ['an expired action', sign({ notAfter: 999 }), /ended/],
    ['an altered action', { ...sign(), payload: JSON.stringify(payload({ verb: 'retireContainer' })) }, /signature/],
    ['a key that is not pinned', signPayload(payload(), signingKeyOf(generateSigningKey().privatePem)), /not pinned/],
  ])('%s -> refused, nothing runs', async (_, signed, message) => {
    let ran = false
    await expect(gate.admit(signed, never, async () => (ran = true))).rejects.toThrow(message)
    expect(ran).toBe(false)
  })

  it('an older pass after a newer one -> refused', async () => {
    await gate.admit(sign({ pass: 2 }), never, async () => undefined)
    await expect(gate.admit(sign({ pass: 1 }), never, async () => undefined)).rejects.toThrow(/too late/)
  })

  it('two actions on one container -> one after the other; another container -> at once', async () => {
    const first = held()
    const order: string[] = []
    const one = gate.admit(sign(), never, async () => (await first.run(), order.push('one')))
    const two = gate.admit(sign({ key: 'retire:c0' }), never, async () => order.push('two'))
    await gate.admit(sign({ key: 'ensure:1:1', container: 'c1' }), never, async () => order.push('other'))
    first.release()
    await Promise.all([one, two])
    expect(order).toEqual(['other', 'one', 'two'])
  })

  it('an action without a container -> excluded by nothing but its own key', async () => {
    const first = held()
    const one = gate.admit(sign(), never, first.run)
    await gate.admit(sign({ key: 'pull:a', container: null }), never, async () => undefined)
    first.release()
    await one
  })

  it('an action that expires while it waits for its turn -> refused', async () => {
    const first = held()
    const one = gate.admit(sign(), never, first.run)
    const two = gate.admit(sign({ key: 'retire:c0', notAfter: 2_000 }), never, async () => undefined)
    await soon()
    now = 3_000
    first.release()
    await one
    await expect(two).rejects.toThrow(/ended/)
  })

  it('cancelled while it waits -> leaves the line and holds nobody up', async () => {
    const first = held()
    const cancel = new AbortController()
    const one = gate.admit(sign(), never, first.run)
    const two = gate.admit(sign({ key: 'b' }), cancel.signal, async () => undefined)
    const three = gate.admit(sign({ key: 'c' }), never, async () => 'ran')
    await soon()
    cancel.abort(new Error('superseded'))
    await expect(two).rejects.toThrow('superseded')
    first.release()
    await one
    await expect(three).resolves.toBe('ran')
  })

  it('a failing action -> its turn ends all the same', async () => {
    await expect(gate.admit(sign(), never, async () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    await expect(gate.admit(sign(), never, async () => 'ran')).resolves.toBe('ran')
  })

  it('while it runs and until its end -> what happens to its container is its own effect', async () => {
    const first = held()
    const one = gate.admit(sign(), never, first.run)
    await soon()
    now = 2_000
    expect(effects.covers('c0', 1_500)).toBe(true)
    first.release()
    await one
    now = 3_000
    expect(effects.covers('c0', 1_999)).toBe(true)
    expect(effects.covers('c0', 2_001)).toBe(false)
    expect(effects.covers('c1', 1_500)).toBe(false)
  })
})
