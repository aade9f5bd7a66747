import { ApplicationFailure } from '@temporalio/common'
import { Context } from '@temporalio/activity'
import type { ResultOf, Verb } from '../src/reconcile/action.js'
import type { SignedAction } from '../src/reconcile/loop.js'
import type { Observation, ObserveRequest } from '../src/reconcile/observed.js'

/** What every agent serves on its node's queues. The names are part of running histories. */
export interface NodeActivities {
  observe(request: ObserveRequest): Promise<Observation>
  act(signed: SignedAction, look: ObserveRequest | null): Promise<ActResult>
}

export interface ActResult {
  result: ResultOf[Verb]
  /** What was there right after the action, so that the next pass need not ask; null when nobody asked or it could not be read. */
  seen: Observation | null
}

/** The agent behind the activities. */
export interface NodeAgentPorts {
  observe(request: ObserveRequest): Promise<Observation>
  /** Verifies, fences and serialises before it runs. Fails with an error that has a `reason`, or with the signal's reason. */
  act(signed: SignedAction, signal: AbortSignal): Promise<ResultOf[Verb]>
}

/** Well below the workflow's heartbeat time-out of 5 s; a cancellation arrives with the answer to a heartbeat. */
const heartbeatMs = 1_000

/**
 * `observe` only reads: any number of attempts is fine, and an engine that is away is a value, not a failure.
 * `act` is idempotent because every verb is; it runs once per attempt that the loop starts, heartbeats all the time
 * (also while it waits for its turn), and fails with the reason that conditions carry.
 */
export function createNodeActivities(agent: NodeAgentPorts): NodeActivities {
  return {
    observe: (request) => agent.observe(request),
    async act(signed, look) {
      const context = Context.current()
      const beat = setInterval(() => context.heartbeat(), heartbeatMs)
      try {
        const result = await agent.act(signed, context.cancellationSignal)
        return { result, seen: look === null ? null : await lookAfter(agent, look, result) }
      } catch (error) {
        if (context.cancellationSignal.aborted) throw context.cancellationSignal.reason
        throw toApplicationFailure(error)
      } finally {
        clearInterval(beat)
      }
    },
  }
}

/** An image that was just resolved is asked for too: the pass that follows makes its release from it. */
async function lookAfter(agent: NodeAgentPorts, look: ObserveRequest, result: ResultOf[Verb]): Promise<Observation | null> {
  const images = 'resolved' in result ? [...new Set([...look.images, result.resolved])] : look.images
  try {
    return await agent.observe({ ...look, images })
  } catch {
    return null // the action did succeed; the next pass looks for itself
  }
}

/** One attempt is all that the loop wants: when to try again is decided by its own durable back-off. */
function toApplicationFailure(error: unknown): ApplicationFailure {
  const { name, message, reason, retryable } = error as Error & { reason?: string; retryable?: boolean }
  const type = name === 'ActionRefused' ? 'ActionRefused' : (reason ?? 'AgentError')
  return ApplicationFailure.create({ message, type, nonRetryable: true, details: [{ retryable: retryable ?? true }] })
}
