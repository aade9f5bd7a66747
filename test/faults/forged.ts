import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client, Connection } from '@temporalio/client'
import { NativeConnection, Worker } from '@temporalio/worker'
import { generateSigningKey, signingKeyOf, signPayload, type SignedPayload } from '../../src/adapters/crypto/signing.js'
import { nodeQueue } from '../../src/reconcile/kind.js'
import type { SignedAction } from '../../src/reconcile/loop.js'
import type { LiveInstance } from './live-instance.js'

const taskQueue = 'somebody-else'

/** Hands actions to the instance's agent past the control worker, as one who reaches Temporal could. */
export async function handToAgent(live: LiveInstance, actions: SignedAction[]): Promise<string[]> {
  const address = `127.0.0.1:${live.ports.TEMPORAL}`
  const { node } = JSON.parse(await readFile(join(live.home, 'agent', 'config.json'), 'utf8')) as { node: string }
  const connection = await NativeConnection.connect({ address })
  const client = await Connection.connect({ address })
  try {
    const worker = await Worker.create({ connection, taskQueue, workflowsPath: join(import.meta.dirname, 'forge.workflow.ts') })
    return await worker.runUntil(() =>
      Promise.all(
        actions.map((action, n) =>
          new Client({ connection: client }).workflow.execute('forge', {
            taskQueue,
            workflowId: `forge-${Date.now()}-${n}`,
            args: [nodeQueue(node, 'short'), action],
          }),
        ),
      ),
    )
  } finally {
    await client.close()
    await connection.close()
  }
}

/** The order to remove a container: with no signature, by another key, altered, past its time, and as it should be. */
export async function forgedRemovals(live: LiveInstance, target: { id: string; kind: string; container: string }): Promise<Record<string, SignedAction>> {
  const { instance, node } = JSON.parse(await readFile(join(live.home, 'agent', 'config.json'), 'utf8')) as { instance: string; node: string }
  const key = signingKeyOf(await readFile(join(live.home, 'secrets', 'signing-key.pem'), 'utf8'))
  const payload: SignedPayload = {
    instance,
    node,
    kind: target.kind,
    resource: target.id,
    key: `retire:${target.container}`,
    generation: 1,
    pass: 2_000_000_000,
    verb: 'retireContainer',
    args: { name: target.container, graceSeconds: 0 },
    container: target.container,
    signedAt: Date.now(),
    notAfter: Date.now() + 60_000,
  }
  const genuine = signPayload(payload, key)
  return {
    unsigned: { ...genuine, signature: '' },
    'of another key': signPayload(payload, signingKeyOf(generateSigningKey().privatePem)),
    altered: { ...genuine, payload: genuine.payload.replace('"graceSeconds":0', '"graceSeconds":1') },
    expired: signPayload({ ...payload, notAfter: Date.now() - 60_000 }, key),
    'for another node': signPayload({ ...payload, node: 'node_other' }, key),
    'of another instance': signPayload({ ...payload, instance: 'other' }, key),
  }
}
