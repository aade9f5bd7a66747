/** All conditions of the demo, and every reason each can carry. */
export const nginxdemoReasons = {
  Ready: [
    'Running',
    'Pulling',
    'Starting',
    'Replacing',
    'Deleting',
    'NodeUnreachable',
    'DockerUnreachable',
    'ImageNotFound',
    'ImagePullUnauthorized',
    'ImagePullRateLimited',
    'RegistryUnreachable',
    'PortTaken',
    'NameTaken',
    'DiskFull',
    'EngineError',
    'ActionTimeout',
    'ActionRefused',
  ],
} as const
