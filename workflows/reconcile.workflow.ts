import * as wf from '@temporalio/workflow'
import type { ControlActivities } from '../activities/control.activities.js'
import type { NodeActivities } from '../activities/node.activities.js'
import type { InFlight } from '../src/reconcile/controller.js'
import { nodeQueue } from '../src/reconcile/kind.js'
import {
  reconcileLoop,
  type ActionEnd,
  type Decision,
  type LoopPorts,
  type RunningAction,
  type StartedAction,
} from '../src/reconcile/loop.js'
import type { ObserveRequest } from '../src/reconcile/observed.js'
import { observe, rootMessage } from './observe.js'
import { lastResultQuery, nudgeSignal, searchAttribute, type LastResult, type ReconcileInput } from './messages.js'

/** From here on a run ends before its next idle wait; a pass is some 20 events. */
const idleEventsMost = 300
/** From here on only un-routing, stopping and repairing are planned, so that the run becomes quiet and can end. */
const quietEventsMost = 4_000
const resyncBaseMs = 3_600_000

const control = wf.proxyLocalActivities<ControlActivities>({
  startToCloseTimeout: '5s',
  retry: { maximumAttempts: 3, initialInterval: '100ms' },
})

/** The one loop of every resource. Everything that decides lives in activities; this only interprets plans. */
export async function reconcile(input: ReconcileInput): Promise<void> {
  let dirty = true
  let last: LastResult = { generation: 0, pass: 0, conditions: [], error: null }
  wf.setHandler(nudgeSignal, () => void (dirty = true))
  wf.setHandler(lastResultQuery, () => last)

  const root = wf.CancellationScope.current()
  const failures = { count: input.failures ?? 0 }
  const operators = operatorView(input)

  const remember = (pass: number, decision: Decision) => {
    last = { generation: decision.generation, pass, conditions: decision.summary, error: null }
  }

  const ports: LoopPorts = {
    begin: async (beginInput) => {
      const begun = await control.begin(input.resource, beginInput)
      if (begun?.decision) remember(begun.loaded.pass, begun.decision)
      return begun
    },
    observe: (request) => {
      operators.looksAt(request.node)
      return observe(request)
    },
    decide: async (passInput) => {
      const decision = await control.decide(input.resource, passInput)
      remember(passInput.pass, decision)
      return decision
    },
    start: (action, look) => startAction(action, look),
    takeDirty: () => {
      const was = dirty
      dirty = false
      return was
    },
    wait: async (woken, ms, why) => {
      operators.waiting(why)
      const awake = () => dirty || woken()
      if (ms === null) await wf.condition(awake)
      else await wf.condition(awake, ms, { summary: `waits for ${why}`.slice(0, 190) })
    },
    failed: (message) => {
      last = { ...last, error: message }
      operators.failed(message)
    },
    report: (decision, inFlight) => operators.decided(decision, inFlight),
    // Spread over ±10 %, so that a fleet that started together does not look together for ever.
    resyncMs: () => resyncBaseMs * (0.9 + Math.random() * 0.2),
    pressure: () => {
      const { historyLength, continueAsNewSuggested } = wf.workflowInfo()
      if (historyLength >= quietEventsMost) return 'quiet'
      return continueAsNewSuggested || historyLength >= idleEventsMost ? 'idle' : 'none'
    },
    stopping: () => root.consideredCancelled,
  }

  // A cancel in the UI must not tear the loop's own steps apart: what is in flight settles first.
  const end = await wf.CancellationScope.nonCancellable(() => reconcileLoop(ports, failures))
  await wf.condition(wf.allHandlersFinished)
  if (end === 'again') await wf.continueAsNew<typeof reconcile>({ ...input, failures: failures.count })
  if (end === 'stopped') throw new wf.CancelledFailure('stopped by a person; the sweep starts it again unless the resource is paused')
}

/** One attempt in its own scope: a failure is an answer for the next plan, and only its own key cancels it. */
function startAction({ header, signed }: StartedAction, look: ObserveRequest | null): RunningAction {
  const scope = new wf.CancellationScope({ cancellable: true })
  const ended = scope.run(async (): Promise<ActionEnd> => {
    const node = wf.proxyActivities<NodeActivities>({
      taskQueue: nodeQueue(header.node, header.queue),
      scheduleToCloseTimeout: header.timeoutSeconds * 1_000,
      heartbeatTimeout: '5s',
      retry: { maximumAttempts: 1 },
      cancellationType: wf.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
      summary: header.summary.slice(0, 190),
    })
    const { key, verb } = header
    try {
      const { result, seen } = await node.act(signed, look)
      return { outcome: { key, verb, ok: true, result }, seen }
    } catch (error) {
      return { outcome: { key, verb, ok: false, ...failureOf(error) }, seen: null }
    }
  })
  return { ended, cancel: () => scope.cancel() }
}

function failureOf(error: unknown): { reason: string; message: string; retryable: boolean; cancelled: boolean } {
  if (wf.isCancellation(error)) return { reason: 'Cancelled', message: 'cancelled', retryable: true, cancelled: true }
  const cause = error instanceof wf.ActivityFailure ? error.cause : error
  if (cause instanceof wf.ApplicationFailure) {
    const [details] = (cause.details ?? []) as ({ retryable?: boolean } | undefined)[]
    return { reason: cause.type ?? 'EngineError', message: cause.message, retryable: details?.retryable ?? true, cancelled: false }
  }
  if (cause instanceof wf.TimeoutFailure)
    return { reason: 'ActionTimeout', message: 'the agent did not finish in time or vanished while it worked', retryable: true, cancelled: false }
  return { reason: 'EngineError', message: rootMessage(error), retryable: true, cancelled: false }
}

/** What a person sees of this run in the Temporal UI. */
function operatorView(input: ReconcileInput) {
  let shown = ''
  let decided = 'no pass has finished yet'
  let waitsFor = ''
  const recent: string[] = []
  const nodes = new Set<string>()

  const render = () =>
    wf.setCurrentDetails(
      [
        `### ${input.kind} ${input.project}/${input.name}`,
        decided,
        `**Waits for:** ${waitsFor || '—'}`,
        recent.length > 0 ? `**Last actions:**\n${recent.map((r) => `- ${r}`).join('\n')}` : '',
      ]
        .filter((part) => part !== '')
        .join('\n\n'),
    )

  return {
    looksAt(node: string) {
      nodes.add(node)
    },
    waiting(why: string) {
      waitsFor = why
      render()
    },
    failed(message: string) {
      decided = `**The last pass failed:** ${message}`
    },
    decided(decision: Decision, inFlight: InFlight[]) {
      for (const { header } of decision.start) recent.unshift(`${header.summary} (on ${header.node})`)
      recent.splice(8)
      decided = [
        `**Generation ${decision.generation}**${decision.paused ? ', paused by a person' : ''}`,
        ...decision.summary.map((line) => `- ${line}`),
        inFlight.length > 0 ? `\n**Running:** ${inFlight.map((a) => a.key).join(', ')}` : '',
      ].join('\n')
      // While actions run, what holds is about to change again; each change costs a write to the visibility store.
      const attributes = `${decision.ready} ${decision.reason} ${decision.generation}`
      if (attributes === shown || (inFlight.length > 0 && shown !== '')) return
      shown = attributes
      wf.upsertSearchAttributes([
        { key: searchAttribute.ready, value: decision.ready },
        { key: searchAttribute.reason, value: decision.reason },
        { key: searchAttribute.generation, value: decision.generation },
        // A run that has looked at nothing, because it is paused, leaves what the run before it said.
        ...(nodes.size > 0 ? [{ key: searchAttribute.node, value: [...nodes].sort().join(' ') }] : []),
      ])
    },
  }
}
