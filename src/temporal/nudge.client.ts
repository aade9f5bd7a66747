import { Client, Connection } from '@temporalio/client'
import { TypedSearchAttributes } from '@temporalio/common'
import { controlQueue, workflowIdOf } from '../reconcile/kind.js'
import { nudgeSignal, searchAttribute, type ReconcileInput } from '../../workflows/messages.js'
import type { DueResource } from '../persistence/pass-store.js'

/** Says «look again» to a resource's workflow, and starts it when it does not run. A lost nudge costs time, never truth. */
export class NudgeClient {
  constructor(private readonly client: Client) {}

  static async connect(address: string, namespace: string): Promise<NudgeClient> {
    const connection = await Connection.connect({ address, connectTimeout: '5s' })
    return new NudgeClient(new Client({ connection, namespace }))
  }

  /** For callers that must start although Temporal is away: dials at the first nudge. */
  static lazy(address: string, namespace: string): NudgeClient {
    return new NudgeClient(new Client({ connection: Connection.lazy({ address, connectTimeout: '5s' }), namespace }))
  }

  async nudge({ id, kind, project, name }: DueResource): Promise<void> {
    const input: ReconcileInput = { kind, resource: id, project, name }
    await this.client.withDeadline(Date.now() + 5_000, () =>
      this.client.workflow.signalWithStart('reconcile', {
        workflowId: workflowIdOf(kind, id),
        taskQueue: controlQueue,
        args: [input],
        signal: nudgeSignal,
        signalArgs: [],
        workflowTaskTimeout: '10s',
        typedSearchAttributes: new TypedSearchAttributes([
          { key: searchAttribute.kind, value: kind },
          { key: searchAttribute.project, value: project },
          { key: searchAttribute.name, value: name },
          { key: searchAttribute.ready, value: 'Unknown' },
        ]),
        staticSummary: `${kind} ${project}/${name}`,
        staticDetails: 'Keeps this resource as it is desired, for ever. Cancelling or terminating it tears nothing down; the sweep starts it again.',
      }),
    )
  }

  /** Answers the workflow's own view of its last pass, or null when it does not run. */
  get temporal(): Client {
    return this.client
  }

  async close(): Promise<void> {
    await this.client.connection.close()
  }
}
