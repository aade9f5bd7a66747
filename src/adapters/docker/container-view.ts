import type { ContainerInspectInfo } from 'dockerode'
import { ContainerState } from '../../reconcile/observed.js'
import type { EngineContainer } from './engine.js'

/** What `inspect` says, in Evenkeel's words. */
export function toEngineContainer(info: ContainerInspectInfo): EngineContainer {
  const { State: state, HostConfig: host } = info
  const status = toState(state.Status)
  return {
    id: info.Id,
    name: info.Name.replace(/^\//, ''),
    labels: info.Config.Labels ?? {},
    imageId: info.Image,
    state: status,
    // The engine says 0 for a container that never ended.
    exitCode: ['exited', 'dead', 'restarting'].includes(status) ? state.ExitCode : null,
    oomKilled: state.OOMKilled,
    startedAt: toTime(state.StartedAt),
    finishedAt: toTime(state.FinishedAt),
    restartCount: info.RestartCount,
    restartPolicy: host.RestartPolicy?.Name || 'no',
    address: addressOf(info),
    // The engine says 0 for no limit.
    limits: { memoryBytes: host.Memory || null, nanoCpus: host.NanoCpus || null },
  }
}

export function toState(status: string): ContainerState {
  return ContainerState.find((s) => s === status) ?? 'dead'
}

/** The engine writes year 1 for "never". */
function toTime(text: string): number | null {
  const time = Date.parse(text)
  return Number.isNaN(time) || time <= 0 ? null : time
}

/** The address that it has, or while it is down the one that it was created with. */
function addressOf(info: ContainerInspectInfo): string | null {
  const networks = Object.values(info.NetworkSettings.Networks ?? {})
  const held = networks.map((n) => n.IPAddress).find((a) => a)
  return held ?? networks.map((n) => (n.IPAMConfig as { IPv4Address?: string } | null)?.IPv4Address).find((a) => a) ?? null
}
