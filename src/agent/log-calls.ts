import type { NodeEngine } from '../adapters/docker/node-engine.js'
import { label } from '../reconcile/labels.js'
import { ActionFailure } from './action-failure.js'
import type { ServeCall } from './peer-calls.js'
import { agentMethods } from './protocol.js'

/** Serves `logs`: a chunk a line. Only of containers of this instance, whoever asks. */
export function serveLogs(instance: string, engine: Pick<NodeEngine, 'inspect' | 'logs'>): ServeCall {
  return async (method, params, onChunk, signal) => {
    if (method !== 'logs') throw new ActionFailure('UnknownMethod', `this agent does not know the method ${method}`, false)
    const { container, ...options } = agentMethods.logs.parse(params)
    const found = await engine.inspect(container)
    if (found?.labels[label.instance] !== instance)
      throw new ActionFailure('NotFound', `there is no container ${container} of this instance`, false)
    await engine.logs(found.id, options, onChunk, signal)
    return undefined
  }
}
