import { Connection } from '@temporalio/client'

/** The server's number for a queue of workflow tasks, and of activity tasks (temporal.api.enums.v1.TaskQueueType). */
export const TaskQueueType = { workflow: 1, activity: 2 } as const
export type TaskQueueType = (typeof TaskQueueType)[keyof typeof TaskQueueType]

export interface QueueOfProcess {
  readonly address: string
  readonly namespace: string
  readonly queue: string
  readonly type: TaskQueueType
  readonly pid: number
}

/**
 * Fails until this very process polls the queue. The server remembers pollers for minutes after they are gone, so the
 * process id at the head of a poller's identity is what counts.
 */
export async function requirePoller({ address, namespace, queue, type, pid }: QueueOfProcess): Promise<void> {
  const connection = await Connection.connect({ address, connectTimeout: 2_000 })
  try {
    const { pollers } = await connection.workflowService.describeTaskQueue({
      namespace,
      taskQueue: { name: queue },
      taskQueueType: type,
    })
    if (!pollers?.some((poller) => poller.identity?.startsWith(`${pid}@`)))
      throw new Error(`process ${pid} does not poll ${queue} yet`)
  } finally {
    await connection.close()
  }
}
