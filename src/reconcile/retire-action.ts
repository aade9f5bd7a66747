import type { Action } from './action.js'

/** Beyond the grace of a stop: the engine takes time of its own to kill and to remove. */
const aroundSeconds = 60

export interface Retirement {
  name: string
  node: string
  graceSeconds: number
  /** For the operator who looks at the run. */
  summary: string
}

/** Stops one container with its grace and removes it. */
export function retireAction({ name, node, graceSeconds, summary }: Retirement): Action {
  return {
    key: `retire:${name}`,
    verb: 'retireContainer',
    args: { name, graceSeconds },
    node,
    queue: 'long',
    container: name,
    timeoutSeconds: graceSeconds + aroundSeconds,
    supersedable: false,
    summary,
  }
}
