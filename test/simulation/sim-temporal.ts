import type { ResultOf, Verb } from '../../src/reconcile/action.js'
import { nodeQueue, workflowIdOf } from '../../src/reconcile/kind.js'
import {
  reconcileLoop,
  type ActionEnd,
  type BeginInput,
  type Begun,
  type DecideInput,
  type Decision,
  type LoopEnd,
  type LoopPorts,
  type SignedAction,
  type StartedAction,
} from '../../src/reconcile/loop.js'
import type { Observation, ObserveRequest } from '../../src/reconcile/observed.js'
import type { Random } from './random.js'
import { drained, type Timer, type VirtualClock } from './virtual-clock.js'

/**
 * A small Temporal: workflows whose state is their history, workflow tasks that are lost with their worker and done
 * again by replay, local activities that are repeated when their task was not completed, and activities with
 * schedule-to-close, start-to-close and heartbeat time-outs, retries, cancellation by heartbeat and late attempts.
 * What a workflow does is written in `ports`, which mirror workflows/reconcile.workflow.ts.
 */

export interface ControlCalls {
  begin(id: string, input: BeginInput): Promise<Begun | null>
  decide(id: string, input: DecideInput): Promise<Decision>
}

/** What an agent's worker runs for one task. */
export interface NodeWorker {
  observe(request: ObserveRequest): Promise<Observation>
  act(
    signed: SignedAction,
    look: ObserveRequest | null,
    signal: AbortSignal,
  ): Promise<{ result: ResultOf[Verb]; seen: Observation | null }>
  /** How a thrown error is told to the workflow. */
  failureOf(error: unknown): { reason: string; message: string; retryable: boolean }
  /** False while its process is frozen or dead: it sends no heartbeats then. */
  readonly beats: boolean
  readonly dead: boolean
}

const cancelledFailure = { reason: 'Cancelled', message: 'cancelled', retryable: true }

/** Why an attempt's signal aborts. */
export class AttemptCancelled extends Error {
  constructor() {
    super('the activity was cancelled')
    this.name = 'CancelledFailure'
  }
}

export interface TransportFaults {
  /** Time from "may run" to "runs", for any task. */
  latencyMs(): number
  /** How long a task for a node stays on the way after the server counted it as started; 0 mostly. */
  stallMs(): number
  /** Whether the agent hears that its attempt is over for the server. */
  toldOfTimeout(): boolean
}

interface StartedWorkflow {
  kind: string
  resource: string
}

type Job =
  | { type: 'task'; historyLength: number }
  | { type: 'nudge' }
  | { type: 'cancelRun' }
  | { type: 'timer'; seq: number }
  | { type: 'local'; seq: number; ok: boolean; value: unknown }
  | { type: 'activity'; seq: number; value: unknown }

interface ActivityOptions {
  queue: string
  input: { kind: 'observe'; request: ObserveRequest } | { kind: 'act'; action: StartedAction; look: ObserveRequest | null }
  startToCloseMs: number | null
  scheduleToCloseMs: number
  heartbeatMs: number | null
  retries: boolean
}

type Command =
  | { type: 'activity'; seq: number; options: ActivityOptions }
  | { type: 'cancelActivity'; seq: number }
  | { type: 'timer'; seq: number; ms: number }
  | { type: 'cancelTimer'; seq: number }

interface LocalCall {
  seq: number
  run: () => Promise<unknown>
}

interface Run {
  id: string
  input: StartedWorkflow
  failures: number
  number: number
  history: Job[]
  historyLength: number
  pending: Job[]
  instance: Instance | null
  task: { open: boolean; timer: Timer | null }
  activities: Map<number, Activity>
  timers: Map<number, Timer>
  closed: boolean
}

const workflowTaskTimeoutMs = 10_000
const localTimeoutMs = 5_000
const localTries = 3

export class SimTemporal {
  private readonly runs = new Map<string, Run>()
  private readonly workers = new Map<string, NodeWorker>()
  private readonly waiting: Activity[] = []
  private runCounter = 0
  private controlUp = true
  private controlLife = 0
  private serverUp = true
  /** Passes that were claimed, for the quiet check. */
  completedTasks = 0

  constructor(
    readonly clock: VirtualClock,
    private readonly random: Random,
    private readonly control: ControlCalls,
    private readonly faults: TransportFaults,
    private readonly limits: { idleEvents: number; quietEvents: number },
    private readonly trace: (line: string) => void,
  ) {}

  /** signalWithStart. Throws while the server is away. */
  nudge(resource: { id: string; kind: string }): void {
    if (!this.serverUp) throw new Error('Temporal cannot be reached')
    const id = workflowIdOf(resource.kind, resource.id)
    const run = this.runs.get(id) ?? this.open(id, { kind: resource.kind, resource: resource.id }, 0)
    this.deliver(run, { type: 'nudge' })
  }

  /** A person cancels the run in the Temporal UI. */
  cancelRun(kind: string, resource: string): void {
    const run = this.runs.get(workflowIdOf(kind, resource))
    if (run) this.deliver(run, { type: 'cancelRun' })
  }

  runsNow(kind: string, resource: string): boolean {
    return this.runs.has(workflowIdOf(kind, resource))
  }

  /** The control worker dies; tasks and local activities that it was doing are lost, whatever effect they had. */
  crashControl(): void {
    this.controlUp = false
    this.controlLife++
    for (const run of this.runs.values()) {
      run.instance = null
      if (run.task.open) this.timeoutTask(run)
    }
  }

  startControl(): void {
    this.controlUp = true
    for (const run of this.runs.values()) this.schedule(run)
  }

  /** The server's file is lost: no workflow is known any more, and no running attempt has anybody to report to. */
  loseEverything(): void {
    for (const run of this.runs.values()) this.close(run)
    this.runs.clear()
    this.waiting.splice(0)
    this.trace('temporal: everything is lost')
  }

  setServer(up: boolean): void {
    this.serverUp = up
    if (!up) return
    for (const run of this.runs.values()) this.schedule(run)
    this.dispatchAll()
  }

  /** An agent's worker begins to poll its node's queues. */
  attach(node: string, worker: NodeWorker): void {
    this.workers.set(nodeQueue(node, 'short'), worker)
    this.workers.set(nodeQueue(node, 'long'), worker)
    this.dispatchAll()
  }

  detach(node: string, worker: NodeWorker): void {
    for (const queue of [nodeQueue(node, 'short'), nodeQueue(node, 'long')])
      if (this.workers.get(queue) === worker) this.workers.delete(queue)
  }

  get isServerUp(): boolean {
    return this.serverUp
  }

  private open(id: string, input: StartedWorkflow, failures: number): Run {
    const run: Run = {
      id,
      input,
      failures,
      number: this.runCounter++,
      history: [],
      historyLength: 1,
      pending: [],
      instance: null,
      task: { open: false, timer: null },
      activities: new Map(),
      timers: new Map(),
      closed: false,
    }
    this.runs.set(id, run)
    return run
  }

  private close(run: Run): void {
    run.closed = true
    run.instance = null
    if (run.task.timer) run.task.timer.cancelled = true
    for (const timer of run.timers.values()) timer.cancelled = true
    for (const activity of run.activities.values()) activity.abandon()
    if (this.runs.get(run.id) === run) this.runs.delete(run.id)
  }

  private deliver(run: Run, job: Job): void {
    if (run.closed) return
    run.pending.push(job)
    run.historyLength++
    this.schedule(run)
  }

  private schedule(run: Run): void {
    if (run.closed || run.task.open || run.pending.length === 0 || !this.controlUp || !this.serverUp) return
    run.task.open = true
    run.task.timer = this.clock.after(this.faults.latencyMs(), () => this.runTask(run, this.controlLife))
  }

  private timeoutTask(run: Run): void {
    run.task.open = false
    if (run.task.timer) run.task.timer.cancelled = true
    // The server offers the task again when its time-out is over, or the sticky queue's.
    const retry = this.clock.after(this.random.between(10, workflowTaskTimeoutMs), () => {
      run.task.open = false
      this.schedule(run)
    })
    run.task = { open: true, timer: retry }
  }

  private async runTask(run: Run, life: number): Promise<void> {
    const alive = () => this.controlUp && this.controlLife === life && !run.closed
    if (!alive()) return
    const instance = run.instance ?? (await this.replayed(run))
    run.instance = instance
    const jobs: Job[] = [{ type: 'task', historyLength: run.historyLength }, ...run.pending]
    const taken = run.pending.length
    const done: Job[] = []
    for (const job of jobs) {
      done.push(job)
      await instance.apply(job)
    }
    this.continueTask(run, instance, done, taken, alive)
  }

  /** Runs local activities until none is wanted, then completes the task. */
  private continueTask(run: Run, instance: Instance, done: Job[], taken: number, alive: () => boolean): void {
    if (!alive() || run.instance !== instance) return
    const calls = instance.takeLocals()
    for (const call of calls) {
      instance.openLocals++
      const go = async (job: Job | null): Promise<void> => {
        if (!job || !alive() || run.instance !== instance) return
        instance.openLocals--
        done.push(job)
        await instance.apply(job)
        this.continueTask(run, instance, done, taken, alive)
      }
      // A workflow computes in no time, whatever it takes to let all its promises run.
      void this.runLocal(call, alive).then((job) => this.clock.hold(go(job)))
    }
    if (instance.openLocals > 0) return
    if (instance.completing) return
    instance.completing = true
    this.clock.after(this.faults.latencyMs(), () => {
      instance.completing = false
      if (alive() && run.instance === instance) this.completeTask(run, instance, done, taken)
    })
  }

  private completeTask(run: Run, instance: Instance, done: Job[], taken: number): void {
    const news = run.pending.length > taken
    if (!this.serverUp || (instance.ended && news)) {
      // The server refuses to end a run that has unseen events; the task is done again with them.
      run.instance = null
      run.task.open = false
      if (this.serverUp) this.schedule(run)
      return
    }
    this.completedTasks++
    run.pending.splice(0, taken)
    run.history.push(...done)
    run.task.open = false
    run.historyLength += 3 + done.filter((j) => j.type === 'local').length
    for (const command of instance.takeCommands()) this.perform(run, command)
    const { ended } = instance
    if (ended) {
      this.trace(`temporal: run ${run.id} ended: ${ended}`)
      this.close(run)
      if (ended === 'again') {
        const next = this.open(run.id, run.input, instance.failures.count)
        next.pending.push({ type: 'nudge' })
        this.schedule(next)
      }
      return
    }
    this.schedule(run)
  }

  private async replayed(run: Run): Promise<Instance> {
    const instance = new Instance(run.input, run.failures, this.control, this.limits, new RunRandom(run.number))
    await instance.begin()
    for (const job of run.history) await instance.apply(job)
    instance.forget()
    return instance
  }

  private async runLocal(call: LocalCall, alive: () => boolean): Promise<Job | null> {
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.tryLocal(call)
      if (!alive()) return null
      if (outcome.ok || attempt === localTries) return { type: 'local', seq: call.seq, ...outcome }
      await this.clock.sleep(100 * 2 ** (attempt - 1))
      if (!alive()) return null
    }
  }

  private tryLocal(call: LocalCall): Promise<{ ok: boolean; value: unknown }> {
    return new Promise((resolve) => {
      const timer = this.clock.after(localTimeoutMs, () => resolve({ ok: false, value: new Error('local activity timed out') }))
      call.run().then(
        (value) => {
          timer.cancelled = true
          // What crosses the border of a worker is JSON.
          resolve({ ok: true, value: asJson(value) })
        },
        (error: unknown) => {
          timer.cancelled = true
          resolve({ ok: false, value: error })
        },
      )
    })
  }

  private perform(run: Run, command: Command): void {
    switch (command.type) {
      case 'timer': {
        const timer = this.clock.after(command.ms, () => {
          run.timers.delete(command.seq)
          this.deliver(run, { type: 'timer', seq: command.seq })
        })
        run.timers.set(command.seq, timer)
        run.historyLength++
        return
      }
      case 'cancelTimer': {
        const timer = run.timers.get(command.seq)
        if (timer) timer.cancelled = true
        run.timers.delete(command.seq)
        run.historyLength++
        return
      }
      case 'activity': {
        const activity = new Activity(this.clock, command.options, this.faults, (value) => {
          run.activities.delete(command.seq)
          run.historyLength++
          this.deliver(run, { type: 'activity', seq: command.seq, value: asJson(value) })
        })
        run.activities.set(command.seq, activity)
        run.historyLength++
        this.enqueue(activity)
        return
      }
      case 'cancelActivity':
        run.activities.get(command.seq)?.requestCancel()
        run.historyLength++
    }
  }

  private enqueue(activity: Activity): void {
    activity.onRetry = () => this.enqueue(activity)
    this.waiting.push(activity)
    this.dispatchAll()
  }

  private dispatchAll(): void {
    if (!this.serverUp) return
    for (const activity of this.waiting.splice(0)) {
      if (activity.closed) continue
      const worker = this.workers.get(activity.queue)
      if (!worker) {
        this.waiting.push(activity)
        continue
      }
      this.clock.after(this.faults.latencyMs(), () => {
        if (activity.closed) return
        if (this.workers.get(activity.queue) === worker && this.serverUp) activity.start(worker)
        else {
          this.waiting.push(activity)
          this.dispatchAll()
        }
      })
    }
  }
}

/** Deterministic per run, as Temporal's own Math.random is. */
class RunRandom {
  constructor(private state: number) {}
  next(): number {
    this.state = (Math.imul(this.state, 1_664_525) + 1_013_904_223) >>> 0
    return this.state / 4_294_967_296
  }
}

function asJson(value: unknown): unknown {
  return value === undefined || value === null ? value : JSON.parse(JSON.stringify(value))
}

/** One living copy of a workflow in a worker's cache. */
class Instance {
  ended: LoopEnd | null = null
  openLocals = 0
  completing = false
  readonly failures: { count: number }
  private seq = 0
  private dirty = true
  private stopRequested = false
  private historyLength = 1
  private commands: Command[] = []
  private locals: LocalCall[] = []
  private readonly resolvers = new Map<number, (job: Job) => void>()
  private conditions: { check: () => boolean; resolve: () => void; timer: number | null }[] = []
  private readonly ports: LoopPorts

  constructor(
    input: StartedWorkflow,
    failures: number,
    control: ControlCalls,
    limits: { idleEvents: number; quietEvents: number },
    random: RunRandom,
  ) {
    this.failures = { count: failures }
    this.ports = {
      begin: (passInput) => {
        const sent = asJson(passInput) as BeginInput
        return this.local(() => control.begin(input.resource, sent)) as Promise<Begun | null>
      },
      observe: (request) => this.observe(request),
      decide: (passInput) => {
        const sent = asJson(passInput) as DecideInput
        return this.local(() => control.decide(input.resource, sent)) as Promise<Decision>
      },
      start: (action, look) => this.start(action, look),
      takeDirty: () => {
        const was = this.dirty
        this.dirty = false
        return was
      },
      wait: (woken, ms) => this.condition(() => this.dirty || woken(), ms),
      failed: () => undefined,
      report: () => undefined,
      resyncMs: () => 3_600_000 * (0.9 + random.next() * 0.2),
      pressure: () =>
        this.historyLength >= limits.quietEvents ? 'quiet' : this.historyLength >= limits.idleEvents ? 'idle' : 'none',
      stopping: () => this.stopRequested,
    }
  }

  async begin(): Promise<void> {
    void reconcileLoop(this.ports, this.failures).then((end) => (this.ended = end))
    await drained()
  }

  async apply(job: Job): Promise<void> {
    switch (job.type) {
      case 'task':
        this.historyLength = job.historyLength
        break
      case 'nudge':
        this.dirty = true
        break
      case 'cancelRun':
        this.stopRequested = true
        break
      default: {
        const resolve = this.resolvers.get(job.seq)
        this.resolvers.delete(job.seq)
        resolve?.(job)
      }
    }
    await drained()
    while (this.checkConditions()) await drained()
  }

  takeLocals(): LocalCall[] {
    return this.locals.splice(0)
  }

  takeCommands(): Command[] {
    return this.commands.splice(0)
  }

  /** After a replay: what the history already holds is not asked again. */
  forget(): void {
    this.commands = []
    this.locals = this.locals.filter((call) => this.resolvers.has(call.seq))
  }

  private checkConditions(): boolean {
    const due = this.conditions.filter((c) => c.check())
    if (due.length === 0) return false
    this.conditions = this.conditions.filter((c) => !due.includes(c))
    for (const { resolve, timer } of due) {
      if (timer !== null && this.resolvers.delete(timer)) this.commands.push({ type: 'cancelTimer', seq: timer })
      resolve()
    }
    return true
  }

  private local(run: () => Promise<unknown>): Promise<unknown> {
    const seq = this.seq++
    this.locals.push({ seq, run })
    return new Promise((resolve, reject) => {
      this.resolvers.set(seq, (job) => {
        if (job.type !== 'local') return
        if (job.ok) resolve(job.value)
        else reject(job.value as Error)
      })
    })
  }

  private async condition(check: () => boolean, ms: number | null): Promise<void> {
    if (check()) return
    if (ms === null) return new Promise((resolve) => this.conditions.push({ check, resolve, timer: null }))
    const seq = this.seq++
    this.commands.push({ type: 'timer', seq, ms })
    await new Promise<void>((resolve) => {
      const waiting = { check, resolve, timer: seq }
      this.conditions.push(waiting)
      this.resolvers.set(seq, () => {
        this.conditions = this.conditions.filter((c) => c !== waiting)
        resolve()
      })
    })
  }

  private activity(options: ActivityOptions): { seq: number; value: Promise<unknown> } {
    const seq = this.seq++
    this.commands.push({ type: 'activity', seq, options })
    const value = new Promise((resolve) => {
      this.resolvers.set(seq, (job) => resolve(job.type === 'activity' ? job.value : undefined))
    })
    return { seq, value }
  }

  private async observe(request: ObserveRequest): Promise<Observation> {
    const { value } = this.activity({
      queue: nodeQueue(request.node, 'short'),
      input: { kind: 'observe', request },
      startToCloseMs: 4_000,
      scheduleToCloseMs: 10_000,
      heartbeatMs: null,
      retries: true,
    })
    const answer = (await value) as { observed?: Observation; failed?: string }
    return (
      answer.observed ?? {
        node: request.node,
        unreachable: 'AgentSilent',
        message: `node ${request.node} did not answer within 10 s (${answer.failed})`,
      }
    )
  }

  private start(action: StartedAction, look: ObserveRequest | null): { ended: Promise<ActionEnd>; cancel(): void } {
    const { header } = action
    const { seq, value } = this.activity({
      queue: nodeQueue(header.node, header.queue),
      input: { kind: 'act', action, look },
      startToCloseMs: null,
      scheduleToCloseMs: header.timeoutSeconds * 1_000,
      heartbeatMs: 5_000,
      retries: false,
    })
    let cancelled = false
    return {
      ended: value as Promise<ActionEnd>,
      cancel: () => {
        if (cancelled) return
        cancelled = true
        this.commands.push({ type: 'cancelActivity', seq })
      },
    }
  }
}

/** One scheduled activity as the server sees it, and its attempts as agents do them. */
class Activity {
  closed = false
  onRetry: () => void = () => undefined
  private attempt = 0
  private timers: Timer[] = []
  private cancelRequested = false
  private started = false
  private lastHeartbeatAt = 0
  private retryMs = 200

  constructor(
    private readonly clock: VirtualClock,
    private readonly options: ActivityOptions,
    private readonly faults: TransportFaults,
    private readonly settle: (value: unknown) => void,
  ) {
    this.timers.push(clock.after(options.scheduleToCloseMs, () => this.timedOut('schedule-to-close')))
  }

  get queue(): string {
    return this.options.queue
  }

  /** Nobody waits for it any more; its attempt does not hear of that. */
  abandon(): void {
    this.finish()
  }

  requestCancel(): void {
    if (this.closed) return
    this.cancelRequested = true
    // What has not begun is cancelled by the server itself.
    if (!this.started) this.answer(this.failed(cancelledFailure, true))
  }

  start(worker: NodeWorker): void {
    this.started = true
    this.attempt++
    this.lastHeartbeatAt = this.clock.now()
    const attempt = this.attempt
    if (this.options.startToCloseMs !== null)
      this.timers.push(
        this.clock.after(this.options.startToCloseMs, () => void (this.attempt === attempt && this.retry('start-to-close'))),
      )
    if (this.options.heartbeatMs !== null) this.watchHeartbeat(attempt, this.options.heartbeatMs)
    const stall = this.faults.stallMs()
    if (stall > 0) this.clock.after(stall, () => void this.run(worker, attempt))
    else void this.run(worker, attempt)
  }

  private async run(worker: NodeWorker, attempt: number): Promise<void> {
    if (worker.dead) return
    const { input } = this.options
    try {
      if (input.kind === 'observe') return this.report(attempt, { observed: await worker.observe(input.request) })
      const abort = new AbortController()
      const stopBeating = this.beat(worker, attempt, abort)
      const { result, seen } = await worker.act(input.action.signed, input.look, abort.signal).finally(stopBeating)
      const { key, verb } = input.action.header
      const end: ActionEnd = { outcome: { key, verb, ok: true, result } as ActionEnd['outcome'], seen }
      this.report(attempt, end)
    } catch (error) {
      if (this.closed || this.attempt !== attempt) return
      if (input.kind === 'observe') return this.retry(String(error))
      const cancelled = error instanceof AttemptCancelled
      this.report(attempt, this.failed(cancelled ? cancelledFailure : worker.failureOf(error), cancelled))
    }
  }

  /** Once a second, and the first at once; a cancellation arrives with the answer. A process that is dead beats no more. */
  private beat(worker: NodeWorker, attempt: number, abort: AbortController): () => void {
    let going = true
    const once = () => {
      if (!going || worker.dead) return
      if (worker.beats) {
        if (this.closed || this.attempt !== attempt) {
          if (this.faults.toldOfTimeout()) abort.abort(new AttemptCancelled())
        } else {
          this.lastHeartbeatAt = this.clock.now()
          if (this.cancelRequested) abort.abort(new AttemptCancelled())
        }
      }
      this.clock.after(1_000, once)
    }
    this.clock.after(1_000, once)
    return () => (going = false)
  }

  private watchHeartbeat(attempt: number, ms: number): void {
    const watch = () => {
      if (this.closed || this.attempt !== attempt) return
      const left = this.lastHeartbeatAt + ms - this.clock.now()
      if (left <= 0) this.timedOut('heartbeat')
      else this.timers.push(this.clock.after(left, watch))
    }
    watch()
  }

  private retry(why: string): void {
    if (this.closed) return
    if (!this.options.retries) return this.timedOut(why)
    this.attempt++ // what the old attempt says later counts no more
    this.started = false
    this.timers.push(this.clock.after(this.retryMs, () => void (this.closed || this.onRetry())))
    this.retryMs = Math.min(this.retryMs * 2, 1_000)
  }

  private timedOut(why: string): void {
    if (this.closed) return
    if (this.options.input.kind === 'observe') return this.answer({ failed: why })
    this.answer(
      this.failed(
        {
          reason: 'ActionTimeout',
          message: `the agent did not finish in time or vanished while it worked (${why})`,
          retryable: true,
        },
        false,
      ),
    )
  }

  private failed(failure: { reason: string; message: string; retryable: boolean }, cancelled: boolean): unknown {
    if (this.options.input.kind !== 'act') return { failed: failure.message }
    const { key, verb } = this.options.input.action.header
    const end: ActionEnd = { outcome: { key, verb, ok: false, ...failure, cancelled }, seen: null }
    return end
  }

  private report(attempt: number, value: unknown): void {
    if (this.closed || this.attempt !== attempt) return
    this.answer(value)
  }

  private answer(value: unknown): void {
    if (this.closed) return
    this.finish()
    this.clock.after(this.faults.latencyMs(), () => this.settle(value))
  }

  private finish(): void {
    this.closed = true
    for (const timer of this.timers) timer.cancelled = true
  }
}
