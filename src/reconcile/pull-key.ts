import type { Action } from './action.js'

/** Each node pulls for itself: what fails, waits or runs on one says nothing of another. */
export const pullKey = (node: string, image: string) => `pull:${node}:${image}`

/** The image that is meant; what is pulled may be a tag by which an image id is hoped to be had again. */
export function imageOfPull({ key, node }: Extract<Action, { verb: 'pullImage' }>): string {
  return key.slice(pullKey(node, '').length)
}
