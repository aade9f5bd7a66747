/** Every condition of an ingress, with all reasons that the planner itself gives; failed actions add theirs. */
export const ingressReasons = {
  Ready: ['Serving', 'Starting', 'Pulling', 'Replacing', 'ConfigPending', 'Deleting', 'NodeUnreachable', 'DockerUnreachable'],
  ConfigApplied: ['Applied', 'Pending', 'NotLooked'],
} as const
