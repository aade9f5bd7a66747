import { Field, Float, Int, ObjectType, registerEnumType } from '@nestjs/graphql'
import { DomainSpec } from '../domain/domain-spec.model.js'
import { applicationDefaults, memoryBytesLeast } from '../../reconcile/application/spec.js'

/** Names of GraphQL for the spec's words. */
export const Strategy = { ROLLING: 'rolling', RECREATE: 'recreate', BLUE_GREEN: 'blue-green' } as const
export type Strategy = (typeof Strategy)[keyof typeof Strategy]
registerEnumType(Strategy, {
  name: 'Strategy',
  description: 'How a new release takes the place of the old one. What cannot run twice at once is always recreated.',
  valuesMap: {
    ROLLING: { description: 'Replica by replica: a new one is ready before an old one leaves. The default.' },
    RECREATE: { description: 'The old one stops before the new one starts.' },
    BLUE_GREEN: { description: 'The whole new set is ready before anything is switched to it, at once.' },
  },
})

export const PullPolicy = { MISSING: 'missing', ALWAYS: 'always', NEVER: 'never' } as const
export type PullPolicy = (typeof PullPolicy)[keyof typeof PullPolicy]
registerEnumType(PullPolicy, {
  name: 'PullPolicy',
  description: 'When an image is pulled.',
  valuesMap: {
    MISSING: { description: 'When the node does not have what the reference means now. The default.' },
    ALWAYS: { description: 'For each new release.' },
    NEVER: { description: 'Only what the node has already.' },
  },
})

export const Protocol = { TCP: 'tcp', UDP: 'udp' } as const
export type Protocol = (typeof Protocol)[keyof typeof Protocol]
registerEnumType(Protocol, {
  name: 'Protocol',
  description: 'Of a published port.',
  valuesMap: { TCP: { description: 'The default.' }, UDP: { description: 'Datagrams.' } },
})

/** One description for what is asked and for what is told. */
export const told = {
  probePath: 'Path of the HTTP request; without it a TCP connect is enough.',
  probePort: "The application's first port when not given.",
  probeCommand: 'Run inside the container instead, an argument list: ready = exit code 0. Not beside path.',
  intervalSeconds: 'Seconds between probes, a number; 2 when not given.',
  timeoutSeconds: 'Seconds that a probe may take, a number; 2 when not given.',
  failureThreshold: 'Failures in a row that count, 3 when not given.',
  secretVersion: 'The newest one when not given, so that a rotation makes a new release.',
  fileMode: 'Octal, e.g. 0644; 0644 when not given.',
  hostAddress: '127.0.0.1 when not given; 0.0.0.0 = every address of the node, the public ones too.',
  memoryBytes: `Most memory of one replica, at least ${memoryBytesLeast} (6 MiB). More is an OOM kill.`,
  cpus: 'Cores that one replica may use, e.g. 0.5.',
  preDeployTimeout: `Seconds that it may take, ${applicationDefaults.preDeployTimeoutSeconds} when not given.`,
  strategy: 'How a new release takes the place of the old one; ROLLING when not given.',
  dependsOn: 'Names of applications of the project that have to be Ready before a new release starts.',
  registryCredential: "Name of the project's registry credential that pulls use.",
  suspended: 'true = runs nothing and keeps everything else.',
  user: 'user, uid, user:group or uid:gid, instead of the one of the image.',
  shmBytes: 'Size of /dev/shm.',
  bindMounts: 'Places of the node inside the container. Needs the ability admin.',
  devices: 'Devices of the node inside the container. Needs the ability admin.',
  volumes:
    "Kept beyond containers and releases. They belong to this application: another one's volume of the same name is another.",
  tmpfs: 'Memory as a file system, gone with the container.',
  files: 'Texts and secrets that stand at their paths when the container starts.',
  secretEnv: 'Environment variables from secrets of the project; they win over env.',
  publishedPorts:
    'Ports of the node that lead to the container. With one, only a single replica can run, and releases are recreated.',
  domains: 'Hosts that ingress serves it under.',
  preDeploy: 'Runs once for each release, with its image and settings, before anything is switched to it.',
} as const

@ObjectType({ description: 'One environment variable.' })
export class Env {
  @Field(() => String, { description: 'Its name.' })
  name!: string

  @Field(() => String, { description: 'Its value, byte for byte.' })
  value!: string
}

@ObjectType({ description: 'An environment variable from a secret: its value is never shown.' })
export class SecretEnv {
  @Field(() => String, { description: 'Its name in the container.' })
  name!: string

  @Field(() => String, { description: 'Name of the secret.' })
  secret!: string

  @Field(() => Int, { nullable: true, description: 'null = the newest one; a release always names its version.' })
  version!: number | null
}

@ObjectType({ description: 'A file that stands in the container when it starts.' })
export class ApplicationFile {
  @Field(() => String, { description: 'Where, absolute.' })
  path!: string

  @Field(() => String, {
    nullable: true,
    description: 'Its text, for tokens with the ability write; null for all others, and for a secret.',
  })
  content!: string | null

  @Field(() => Int, { nullable: true, description: 'Length of its text in bytes; null for a secret.' })
  contentBytes!: number | null

  @Field(() => String, { nullable: true, description: 'Name of the secret that it holds; null for a text.' })
  secret!: string | null

  @Field(() => Int, { nullable: true, description: 'Version of the secret; null = the newest one.' })
  version!: number | null

  @Field(() => String, { nullable: true, description: 'null = 0644.' })
  mode!: string | null
}

@ObjectType({ description: "One label on the application's containers." })
export class Label {
  @Field(() => String, { description: 'Its key.' })
  key!: string

  @Field(() => String, { description: 'Its value.' })
  value!: string
}

@ObjectType({ description: 'How a replica is asked how it is, as people wanted it; null fields stand for the default.' })
export class Probe {
  @Field(() => String, { nullable: true, description: 'Path of the HTTP request; null = a TCP connect or a command.' })
  path!: string | null

  @Field(() => Int, { nullable: true, description: 'null = the first port.' })
  port!: number | null

  @Field(() => [String], { nullable: true, description: 'Run inside the container instead; null = HTTP or TCP.' })
  command!: string[] | null

  @Field(() => Float, { nullable: true, description: 'null = 2.' })
  intervalSeconds!: number | null

  @Field(() => Float, { nullable: true, description: 'null = 2.' })
  timeoutSeconds!: number | null

  @Field(() => Int, { nullable: true, description: 'null = 3.' })
  failureThreshold!: number | null
}

@ObjectType({ description: 'A port of the node that leads to the container.' })
export class PublishedPort {
  @Field(() => Int, { description: "The container's port." })
  port!: number

  @Field(() => Int, { description: "The node's port." })
  hostPort!: number

  @Field(() => String, { nullable: true, description: 'null = 127.0.0.1.' })
  hostAddress!: string | null

  @Field(() => Protocol, { nullable: true, description: 'null = TCP.' })
  protocol!: Protocol | null
}

@ObjectType({ description: 'A volume of the application.' })
export class VolumeMount {
  @Field(() => String, { description: 'Its name in the application.' })
  name!: string

  @Field(() => String, { description: 'Where it is in the container.' })
  path!: string

  @Field(() => Boolean, { nullable: true, description: 'null = false.' })
  readOnly!: boolean | null
}

@ObjectType({ description: 'A place of the node inside the container.' })
export class BindMount {
  @Field(() => String, { description: 'Where it is on the node.' })
  source!: string

  @Field(() => String, { description: 'Where it is in the container.' })
  path!: string

  @Field(() => Boolean, { nullable: true, description: 'null = false.' })
  readOnly!: boolean | null
}

@ObjectType({ description: 'Memory as a file system.' })
export class Tmpfs {
  @Field(() => String, { description: 'Where it is in the container.' })
  path!: string

  @Field(() => Float, { nullable: true, description: "null = the engine's default." })
  sizeBytes!: number | null
}

@ObjectType({ description: 'A device of the node inside the container.' })
export class Device {
  @Field(() => String, { description: 'Where it is on the node.' })
  source!: string

  @Field(() => String, { nullable: true, description: 'Where it is in the container; null = the same place.' })
  path!: string | null

  @Field(() => String, { nullable: true, description: 'Made of r, w and m; null = rwm.' })
  permissions!: string | null
}

@ObjectType({ description: 'Most that one replica may use. A change does not replace containers, taking a limit away does.' })
export class Resources {
  @Field(() => Float, { nullable: true, description: 'null = as much as the node has.' })
  memoryBytes!: number | null

  @Field(() => Float, { nullable: true, description: 'null = as many as the node has.' })
  cpus!: number | null
}

@ObjectType({ description: 'What runs once for each release, before anything is switched to it.' })
export class PreDeploy {
  @Field(() => [String], { description: 'An argument list, never a shell line.' })
  command!: string[]

  @Field(() => Int, { nullable: true, description: 'null = 600.' })
  timeoutSeconds!: number | null
}

@ObjectType({ description: 'Where replicas live.' })
export class Placement {
  @Field(() => String, { description: 'Name of the node.' })
  node!: string
}

/** What needs new containers when it changes: a release freezes exactly this. */
@ObjectType({ isAbstract: true })
export abstract class TemplateFields {
  @Field(() => String, { description: 'The image reference.' })
  image!: string

  @Field(() => [String], { nullable: true, description: "null = the image's own." })
  entrypoint!: string[] | null

  @Field(() => [String], { nullable: true, description: "null = the image's own." })
  command!: string[] | null

  @Field(() => [Env], { nullable: true, description: 'null = none.' })
  env!: Env[] | null

  @Field(() => [SecretEnv], { nullable: true, description: told.secretEnv })
  secretEnv!: SecretEnv[] | null

  @Field(() => [ApplicationFile], { nullable: true, description: told.files })
  files!: ApplicationFile[] | null

  @Field(() => [Label], { nullable: true, description: 'null = none.' })
  labels!: Label[] | null

  @Field(() => [Int], { nullable: true, description: 'null = none.' })
  ports!: number[] | null

  @Field(() => [PublishedPort], { nullable: true, description: told.publishedPorts })
  publishedPorts!: PublishedPort[] | null

  @Field(() => Probe, { nullable: true, description: 'null = a TCP connect to the first port, if there is one.' })
  readiness!: Probe | null

  @Field(() => Probe, { nullable: true, description: 'A replica that fails it is restarted; null = only an exit counts.' })
  liveness!: Probe | null

  @Field(() => String, { nullable: true, description: "null = the image's own." })
  user!: string | null

  @Field(() => [VolumeMount], { nullable: true, description: told.volumes })
  volumes!: VolumeMount[] | null

  @Field(() => [BindMount], { nullable: true, description: told.bindMounts })
  bindMounts!: BindMount[] | null

  @Field(() => [Tmpfs], { nullable: true, description: told.tmpfs })
  tmpfs!: Tmpfs[] | null

  @Field(() => Float, { nullable: true, description: `${told.shmBytes} null = the engine's default.` })
  shmBytes!: number | null

  @Field(() => [Device], { nullable: true, description: told.devices })
  devices!: Device[] | null

  @Field(() => PreDeploy, { nullable: true, description: told.preDeploy })
  preDeploy!: PreDeploy | null

  @Field(() => Placement, { nullable: true, description: 'null = the node that joined first.' })
  placement!: Placement | null

  @Field(() => Int, {
    nullable: true,
    description: 'The generation of the last restart or redeploy; null = there was none. Set by those mutations only.',
  })
  restartNonce!: number | null
}

@ObjectType({ description: 'The settings that a release froze: project env merged in, and each secret with its version.' })
export class ReleaseTemplate extends TemplateFields {}

@ObjectType({ description: 'What people asked for, exactly as they said it: null stands for the default.' })
export class ApplicationSpec extends TemplateFields {
  @Field(() => Int, { nullable: true, description: 'null = 1.' })
  replicas!: number | null

  @Field(() => Resources, { nullable: true, description: 'null = no limit.' })
  resources!: Resources | null

  @Field(() => Strategy, { nullable: true, description: 'null = ROLLING.' })
  strategy!: Strategy | null

  @Field(() => [String], { nullable: true, description: told.dependsOn })
  dependsOn!: string[] | null

  @Field(() => PullPolicy, { nullable: true, description: 'null = MISSING.' })
  pullPolicy!: PullPolicy | null

  @Field(() => String, { nullable: true, description: told.registryCredential })
  registryCredential!: string | null

  @Field(() => Boolean, { nullable: true, description: told.suspended })
  suspended!: boolean | null

  @Field(() => Int, { nullable: true, description: 'null = 60.' })
  startupBudgetSeconds!: number | null

  @Field(() => Int, { nullable: true, description: 'null = 10.' })
  stopGraceSeconds!: number | null

  @Field(() => Int, { nullable: true, description: 'null = 30.' })
  drainSeconds!: number | null

  @Field(() => [DomainSpec], { nullable: true, description: told.domains })
  domains!: DomainSpec[] | null
}
