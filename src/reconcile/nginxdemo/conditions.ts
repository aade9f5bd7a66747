import { failureReasons } from '../failure-reasons.js'

/** All conditions of the demo, and every reason each can carry. docs/operations.md says what to do about each. */
export const nginxdemoReasons = {
  Ready: ['Running', 'Pulling', 'Starting', 'Replacing', 'Deleting', 'NodeUnreachable', ...failureReasons],
} as const
