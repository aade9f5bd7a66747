import type { ContainerSpecGiven, Mount, Probe, ResourceLimits } from '../action.js'
import { label, preDeployName, volumeName } from '../labels.js'
import type { ApplicationDesired, Endpoint, Release } from './desired.js'
import { internalZone } from './publication.js'
import { limitsOf, livenessOf, probeOf, stopGraceSecondsOf, type ReleaseTemplate } from './spec.js'
import type { Replica, World } from './world.js'

/** Everything that one replica's container is made from. */
export function replicaContainer(world: World, { endpoint, containerName }: Replica, release: Release): ContainerSpecGiven {
  const { resource } = world.input
  const { template } = release
  return {
    ...commonOf(world, release, endpoint.replica, { probe: probeOf(template), liveness: livenessOf(template) }),
    name: containerName,
    entrypoint: template.entrypoint ?? null,
    command: template.command ?? null,
    hostname: hostname(`${resource.name}-${endpoint.release}-${endpoint.replica}`),
    address: endpoint.address,
    publishedPorts: (template.publishedPorts ?? []).map((p) => ({
      containerPort: p.port,
      hostPort: p.hostPort,
      hostAddress: p.hostAddress ?? '127.0.0.1',
      protocol: p.protocol ?? 'tcp',
    })),
    restartPolicy: isProven(endpoint, release) ? 'unless-stopped' : 'no',
  }
}

/** The release's image and settings with another command; nothing is routed to it. */
export function preDeployContainer(world: World, release: Release): ContainerSpecGiven {
  const { instance, resource } = world.input
  const common = commonOf(world, release, 0, { probe: null, liveness: null })
  return {
    ...common,
    labels: { ...common.labels, [label.purpose]: 'pre-deploy' },
    name: preDeployName(instance, resource.id, release.number),
    // In place of the entry point: an image's own would take the command for its argument.
    entrypoint: release.template.preDeploy?.command ?? [],
    command: [],
    hostname: hostname(`${resource.name}-${release.number}-pre-deploy`),
    address: null,
    restartPolicy: 'no',
  }
}

function commonOf(world: World, release: Release, replica: number, probes: { probe: Probe | null; liveness: Probe | null }) {
  const { instance, resource, desired } = world.input
  const { template } = release
  const grace = stopGraceSecondsOf(desired.spec)
  return {
    image: release.resolvedImage,
    labels: {
      ...Object.fromEntries((template.labels ?? []).map((l) => [l.key, l.value])),
      [label.instance]: instance,
      [label.kind]: resource.kind,
      [label.resource]: resource.id,
      [label.name]: resource.name,
      [label.project]: resource.project,
      [label.release]: String(release.number),
      [label.replica]: String(replica),
      [label.specHash]: release.hash,
      [label.stopGrace]: String(grace),
      ...(probes.probe ? { [label.probe]: JSON.stringify(probes.probe) } : {}),
      ...(probes.liveness ? { [label.liveness]: JSON.stringify(probes.liveness) } : {}),
    },
    env: (template.env ?? []).map((e): [string, string] => [e.name, e.value]),
    stopGraceSeconds: grace,
    dnsSearch: [`${resource.project}.${internalZone}`],
    ...settingsOf(template, instance, resource.id),
    ...limitsGiven(desired),
  } satisfies Partial<ContainerSpecGiven>
}

/** Left out where there is nothing to say, so that an action stays small. */
function settingsOf(template: ReleaseTemplate, instance: string, resource: string): Partial<ContainerSpecGiven> {
  const { user, secretEnv, files, tmpfs, shmBytes, devices } = template
  const mounts = mountsOf(template, instance, resource)
  return {
    ...(user === undefined ? {} : { user }),
    ...(secretEnv ? { secretEnv: secretEnv.map((e) => ({ name: e.name, secret: { secret: e.secret, version: e.version ?? 0 } })) } : {}),
    ...(files ? { files: files.map(fileOf) } : {}),
    ...(mounts.length > 0 ? { mounts } : {}),
    ...(tmpfs ? { tmpfs: tmpfs.map((t) => ({ target: t.path, sizeBytes: t.sizeBytes ?? null })) } : {}),
    ...(shmBytes === undefined ? {} : { shmBytes }),
    ...(devices ? { devices: devices.map((d) => ({ source: d.source, target: d.path ?? d.source, permissions: d.permissions ?? 'rwm' })) } : {}),
  }
}

function fileOf({ path, mode, content, secret, version }: NonNullable<ReleaseTemplate['files']>[number]) {
  return { path, mode: Number.parseInt(mode ?? '0644', 8), content: secret === undefined ? (content ?? '') : { secret, version: version ?? 0 } }
}

function mountsOf({ volumes, bindMounts }: ReleaseTemplate, instance: string, resource: string): Mount[] {
  return [
    ...(volumes ?? []).map((v) => ({
      kind: 'volume' as const,
      source: volumeName(instance, resource, v.name),
      target: v.path,
      readOnly: v.readOnly ?? false,
    })),
    ...(bindMounts ?? []).map((b) => ({ kind: 'bind' as const, source: b.source, target: b.path, readOnly: b.readOnly ?? false })),
  ]
}

/** Limits are no part of a release: they change in a living container. */
function limitsGiven({ spec }: ApplicationDesired): { resources?: ResourceLimits } {
  return spec.resources ? { resources: limitsOf(spec) } : {}
}

/** A failing release keeps its exit code; what has proved itself is restarted by Docker, which backs off. */
export function isProven(endpoint: Endpoint, release: Release | undefined): boolean {
  return endpoint.readyAt !== null || (release !== undefined && release.servingAt !== null)
}

function hostname(text: string): string {
  return text.slice(-63).replace(/^-+/, '')
}
