import { proxyLocalActivities } from '@temporalio/workflow'
import type { ControlActivities } from '../activities/control.activities.js'
import type { Previewed, PreviewSubject } from '../activities/preview.js'
import { observeAll } from '../src/reconcile/loop.js'
import { observe } from './observe.js'

const control = proxyLocalActivities<ControlActivities>({
  startToCloseTimeout: '5s',
  retry: { maximumAttempts: 2, initialInterval: '100ms' },
})

/** Reads what is there and says which steps would follow; null when there is nothing to preview. It writes nothing. */
export async function preview(subject: PreviewSubject): Promise<Previewed | null> {
  const requests = await control.previewRequests(subject)
  if (!requests) return null
  const observed = await observeAll(requests, observe)
  return control.previewSteps(subject, observed)
}
