/**
 * Why an action may fail, as conditions say it: what the engine refused, what the agent refused, and what became of the
 * action on its way. An agent that knows more than this tells a reason that is not in here, and it is shown as it is.
 */
export const failureReasons = [
  // image and registry
  'ImageNotFound',
  'ImagePullUnauthorized',
  'ImagePullRateLimited',
  'ImagePlatformMismatch',
  'ImageMissing',
  'RegistryUnreachable',
  // engine
  'DockerUnreachable',
  'UnsupportedEngine',
  'NameTaken',
  'AddressInUse',
  'NetworkMissing',
  'PortTaken',
  'CommandNotFound',
  'UserNotFound',
  'VolumeForeign',
  'VolumeInUse',
  'BindSourceMissing',
  'DeviceMissing',
  'ResourcesNotApplied',
  'DiskFull',
  'NotFound',
  'EngineError',
  // ingress
  'IngressNotRunning',
  'ConfigRefused',
  'ConfigNotKept',
  // agent
  'RequiredSecretMissing',
  'CredentialMissing',
  'FileNotPlaceable',
  'PreDeployFailed',
  'ApiUnreachable',
  'NodeNotReady',
  'DNSNotUpdated',
  'ActionTimeout',
  'ActionRefused',
  'UnknownVerb',
  'BadAction',
  'AgentError',
] as const
