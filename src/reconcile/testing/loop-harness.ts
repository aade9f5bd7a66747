import type { Outcome } from '../action.js'
import type { InFlight } from '../controller.js'
import type { ActionEnd, ActionHeader, BeginInput, Decision, DecideInput, LoopPorts, StartedAction } from '../loop.js'
import { reconcileLoop, type LoopEnd } from '../loop.js'
import type { NodeObservation, Observation, ObserveRequest } from '../observed.js'

export const quietDecision: Decision = {
  superseded: false,
  generation: 1,
  start: [],
  cancel: [],
  requeueAfterMs: null,
  finalized: false,
  paused: false,
  ready: 'True',
  reason: 'Running',
  summary: [],
}

export function actionNamed(key: string, change: Partial<ActionHeader> = {}): StartedAction {
  const header: ActionHeader = {
    key,
    verb: 'pullImage',
    node: 'node_1',
    queue: 'long',
    container: null,
    timeoutSeconds: 60,
    supersedable: false,
    summary: key,
    ...change,
  }
  return { header, signed: { payload: '{}', keyId: 'k', signature: 's' } }
}

export const seenOn = (node: string, published: string | null = null): Observation => ({
  node,
  unreachable: null,
  containers: [],
  images: {},
  published,
  connections: {},
})

/** One `decide`, or the part of `begin` that decides, as the loop called it. */
export interface Pass {
  observed: Observation[]
  /** The observation came with an action's answer, nobody was asked. */
  bySeen: boolean
  inFlight: InFlight[]
  settled: string[]
  quiet: boolean
}

/** The loop over ports that a test plays by hand: nothing moves by itself, so every interleaving can be made. */
export class LoopHarness {
  readonly passes: Pass[] = []
  readonly waits: (number | null)[] = []
  readonly cancelled: string[] = []
  readonly failed: string[] = []
  observations = 0
  /** What each started action's agent is asked to look at afterwards. */
  readonly looks: (ObserveRequest | null)[] = []
  /** Added to what a node answers when it is looked at. */
  seeing: Partial<NodeObservation> = {}
  nodes = ['node_1']
  away: { node: string; message: string }[] = []
  gone = false
  stopping = false
  pressure: 'none' | 'idle' | 'quiet' = 'none'
  resyncMs = 3_600_000
  end: LoopEnd | undefined
  /** Answers of decide, in turn; the last one is repeated. Throwing ones make the pass fail. */
  decisions: (() => Decision)[] = [() => quietDecision]
  /** Called while a pass observes. */
  whileObserving: () => Promise<void> | void = () => undefined
  #dirty = true
  #timeUp = false
  #pass = 0
  #wake: (() => void) | undefined
  readonly #running = new Map<string, (end: ActionEnd) => void>()
  #done: Promise<void> = Promise.resolve()

  run(failures = { count: 0 }): void {
    this.#done = reconcileLoop(this.#ports(), failures).then((end) => {
      this.end = end
    })
  }

  /** Lets everything that can go on go on. */
  async settle(): Promise<void> {
    for (let i = 0; i < 50; i++) await Promise.resolve()
    this.#wake?.()
    for (let i = 0; i < 50; i++) await Promise.resolve()
  }

  async nudge(times = 1): Promise<void> {
    for (let i = 0; i < times; i++) this.#dirty = true
    await this.settle()
  }

  /** The timer that the loop waits for fires. */
  async timeUp(): Promise<void> {
    this.#timeUp = true
    await this.settle()
  }

  async stop(): Promise<void> {
    this.stopping = true
    await this.settle()
  }

  running(): string[] {
    return [...this.#running.keys()]
  }

  /** Ends a running action; `seen` is what its agent answers with. */
  async ends(key: string, seen: Observation | null = null, ok = true): Promise<void> {
    this.endNow(key, seen, ok)
    await this.settle()
  }

  /** Ends it without letting anything else go on. */
  endNow(key: string, seen: Observation | null = null, ok = true): void {
    const resolve = this.#running.get(key)
    if (!resolve) throw new Error(`${key} is not running`)
    this.#running.delete(key)
    const outcome: Outcome = ok
      ? { key, verb: 'pullImage', ok: true, result: { imageId: 'x' } }
      : { key, verb: 'pullImage', ok: false, reason: 'EngineError', message: 'no', retryable: true, cancelled: false }
    resolve({ outcome, seen })
  }

  async finished(): Promise<LoopEnd | undefined> {
    await this.#done
    return this.end
  }

  #decide(input: Omit<DecideInput, 'pass'>, bySeen: boolean): Decision {
    const { observed, inFlight, settled, quiet } = input
    this.passes.push({ observed, bySeen, inFlight, settled: settled.map((s) => `${s.key}@${s.generation}`), quiet })
    const next = this.decisions.length > 1 ? this.decisions.shift() : this.decisions[0]
    return (next ?? (() => quietDecision))()
  }

  #ports(): LoopPorts {
    return {
      begin: (input: BeginInput) => {
        if (this.gone) return Promise.resolve(null)
        const observe = this.nodes.map((node) => ({ node, kind: 'k', resource: 'r', images: ['app:1'], connectionsTo: [], resolve: 'app:1' }))
        const loaded = { pass: ++this.#pass, generation: 1, observe, away: this.away }
        const covered = this.nodes.every((node) => input.seen.some((o) => o.node === node))
        return Promise.resolve().then(() => ({ loaded, decision: covered ? this.#decide({ ...input, observed: input.seen }, true) : null }))
      },
      observe: async ({ node }) => {
        this.observations++
        await this.whileObserving()
        return { ...seenOn(node), ...this.seeing } as Observation
      },
      decide: (input) => Promise.resolve().then(() => this.#decide(input, false)),
      start: ({ header }, look) => {
        this.looks.push(look)
        return {
          ended: new Promise((resolve) => this.#running.set(header.key, resolve)),
          cancel: () => this.cancelled.push(header.key),
        }
      },
      takeDirty: () => {
        const was = this.#dirty
        this.#dirty = false
        return was
      },
      wait: async (woken, ms) => {
        this.waits.push(ms)
        this.#timeUp = false
        while (!woken() && !this.#dirty && !this.#timeUp) {
          await new Promise<void>((resolve) => {
            this.#wake = resolve
          })
        }
      },
      failed: (message) => this.failed.push(message),
      report: () => undefined,
      resyncMs: () => this.resyncMs,
      pressure: () => this.pressure,
      stopping: () => this.stopping,
    }
  }
}
