import { ActionFailure } from './action-failure.js'
import type { ServeCall } from './peer-calls.js'

/** Serves each method by its own function. */
export function serveCalls(methods: Record<string, ServeCall>): ServeCall {
  return async (method, params, call) => {
    const serve = Object.hasOwn(methods, method) ? methods[method] : undefined
    if (!serve) throw new ActionFailure('UnknownMethod', `this agent does not know the method ${method}`, false)
    return serve(method, params, call)
  }
}
