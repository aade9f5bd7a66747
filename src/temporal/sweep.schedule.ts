import { ScheduleAlreadyRunning, ScheduleOverlapPolicy, type Client } from '@temporalio/client'
import { controlQueue } from '../reconcile/kind.js'

const scheduleId = 'sweep'

/** Makes the sweep's schedule, or keeps the one that is there, and runs it once now. */
export async function ensureSweepSchedule(client: Client): Promise<void> {
  try {
    await client.schedule.create({
      scheduleId,
      spec: { intervals: [{ every: '30s' }] },
      action: {
        type: 'startWorkflow',
        workflowType: 'sweep',
        workflowId: 'sweep',
        taskQueue: controlQueue,
        args: [],
        workflowExecutionTimeout: '10m',
        staticSummary: 'nudges every resource that is out of step',
      },
      policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1m' },
    })
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error
  }
  await client.schedule.getHandle(scheduleId).trigger(ScheduleOverlapPolicy.SKIP)
}
