import { randomUUID } from 'node:crypto'
import type { Client } from '@temporalio/client'
import type { Previewed, PreviewSubject } from '../../activities/preview.js'
import { controlQueue } from '../reconcile/kind.js'

/** Longer than a silent node is waited for. */
const previewTimeout = '25s'

/** Runs a preview as a short workflow, so that nodes are asked on the same way as for real; null when there is nothing to preview. */
export async function runPreview(client: Client, subject: PreviewSubject): Promise<Previewed | null> {
  return client.workflow.execute<(subject: PreviewSubject) => Promise<Previewed | null>>('preview', {
    workflowId: `preview:${subject.resourceId ?? subject.name}:${randomUUID()}`,
    taskQueue: controlQueue,
    args: [subject],
    workflowExecutionTimeout: previewTimeout,
    staticSummary: `what would follow for ${subject.name}`,
  })
}
