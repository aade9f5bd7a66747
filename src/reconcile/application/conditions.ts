import { failureReasons } from '../failure-reasons.js'

/** All conditions of an application, and every reason each can carry. docs/operations.md says what to do about each. */
export const applicationReasons = {
  Ready: [
    'Running',
    'ScaledToZero',
    'Suspended',
    'DependencyNotReady',
    'RequiredSecretMissing',
    'PreDeploying',
    'Restarting',
    'CrashLoopBackOff',
    'Resolving',
    'Pulling',
    'RollingOut',
    'Deleting',
    'AddressesExhausted',
    'NodeUnreachable',
    // verdicts on a release
    'ContainerExited',
    'OOMKilled',
    'ReadinessTimeout',
    'CrashLoop',
    'PreDeployFailed',
    // failures of actions
    ...failureReasons,
  ],
  Available: ['ReplicasReady', 'NoReplicaReady', 'ScaledToZero', 'Suspended', 'NodeUnreachable', 'DockerUnreachable'],
  ImageResolved: ['ResolvedByRegistry', 'ResolvedLocally', 'Resolving', 'ResolveFailed'],
  EndpointsPublished: ['Published', 'Publishing', 'PublishFailed', 'NothingToPublish', 'Unobserved'],
  Routed: ['Routed', 'Pending', 'InvalidRoute', 'HostTaken', 'CertificateMissing', 'Refused', 'ConfigRefused'],
  CertificateReady: ['Issued', 'CertificateMissing', 'CertificateExpired', 'RenewalFailing'],
  StrategyHonoured: ['FallbackToRecreate'],
  VolumesInPlace: ['LeftBehind'],
  Draining: ['NothingDrains', 'WaitingForConnections', 'WaitingForDns', 'WaitingForNode', 'NodeUnreachable', 'Stopping'],
} as const
