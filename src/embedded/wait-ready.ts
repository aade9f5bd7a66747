import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { Database } from '../persistence/database.js'
import { reasonOf } from './reason.js'
import type { SetupLog } from './setup-log.js'

const EVERY_MS = 100

/** What is still missing, in words; nothing when it is there. */
type Missing = () => Promise<string | undefined>

const readinessSchema = z.object({ checks: z.record(z.string(), z.object({ ok: z.boolean(), message: z.string() })) })

/**
 * Waits until the API can serve everything: among it that the agent of this machine has tried its engine (can it reach
 * a container by its address?) and found it usable.
 */
export function waitForControlPlane(apiUrl: string, log: SetupLog): Promise<void> {
  return waitFor(60_000, log, async () => {
    // An API that was just killed, or a busy machine: no answer is an answer of "not yet".
    const response = await fetch(`${apiUrl}/readyz`, { signal: AbortSignal.timeout(5_000) }).catch((error: unknown) => reasonOf(error))
    if (typeof response === 'string') return `the API does not answer: ${response}`
    if (response.ok) return undefined
    const { checks } = readinessSchema.parse(await response.json())
    const wrong = Object.entries(checks).filter(([, check]) => !check.ok)
    return wrong.map(([name, check]) => `${name}: ${check.message}`).join('; ')
  })
}

/** Waits until a resource was seen to be Ready. */
export function waitForReady(db: Database, resourceId: string, log: SetupLog): Promise<void> {
  return waitFor(180_000, log, async () => {
    const ready = await db.condition.findUnique({ where: { resourceId_type: { resourceId, type: 'Ready' } } })
    if (ready?.status === 'True') return undefined
    return ready ? `${ready.reason}: ${ready.message}` : 'nobody has looked at it yet'
  })
}

/** Tells what is missing when it is not what was missing at first: a wait that ends at once says nothing. */
async function waitFor(timeoutMs: number, log: SetupLog, missing: Missing): Promise<void> {
  const startedAt = Date.now()
  let told: string | undefined
  for (;;) {
    const now = await missing()
    if (now === undefined) return
    const waitedMs = Date.now() - startedAt
    if (waitedMs > timeoutMs) throw new Error(`not ready after ${timeoutMs / 1000} s (${now})`)
    if (now !== told && waitedMs > 3_000) log((told = now))
    await sleep(EVERY_MS)
  }
}
