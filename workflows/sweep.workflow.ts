import { proxyActivities } from '@temporalio/workflow'
import type { ControlActivities } from '../activities/control.activities.js'

const control = proxyActivities<ControlActivities>({
  startToCloseTimeout: '30s',
  scheduleToCloseTimeout: '60s',
  retry: { maximumAttempts: 2 },
  summary: 'nudge what is out of step',
})

/** The Source of the mission's engine: derived anew each time, and a failing one is tried again by the next. */
export async function sweep(): Promise<void> {
  let after: string | null = ''
  while (after !== null) after = await control.sweepPage(after)
  await control.keepHouse()
}
