import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { NodeEngine } from '../adapters/docker/node-engine.js'
import { hostsIn, partsOfHosts, withoutHosts } from '../reconcile/ingress/config-hosts.js'
import { ingressPaths } from '../reconcile/ingress/spec.js'
import { caddyWords } from './caddy-words.js'
import type { Clock } from './ports.js'
import { refusedHosts, type RefusedHost } from './refused-hosts.js'
import { writeFileAtomically } from './state-file.js'

/** No file that a configuration names begins with a dot. */
const candidateFile = '.candidate.json'
const trialsMost = 30
const trialsWithinMs = 60_000
const trialWithinMs = 20_000
/** `caddy validate` says so of what it does not take; anything else is no answer. */
const refusedExitCode = 1

/** Which hosts of a configuration Caddy refuses. It is asked beside the running one, which notices nothing. */
export class ConfigTrial {
  constructor(
    private readonly options: { engine: Pick<NodeEngine, 'exec'>; clock: Clock },
    /** Which the container sees as `ingressPaths.files`. */
    private readonly folder: string,
  ) {}

  /** `running`: what is loaded; hosts that it serves in just this way are the last to be blamed. */
  async refusedHosts(container: string, wanted: object, running: object, signal: AbortSignal): Promise<RefusedHost[]> {
    const { clock } = this.options
    const until = clock.now() + trialsWithinMs
    const hosts = hostsIn(wanted)
    try {
      return await refusedHosts(
        bySeniority(wanted, running),
        (some) => {
          signal.throwIfAborted()
          const kept = new Set(some)
          return this.refusal(
            container,
            withoutHosts(
              wanted,
              hosts.filter((host) => !kept.has(host)),
            ),
          )
        },
        { questions: trialsMost, timeLeft: () => clock.now() < until },
      )
    } finally {
      rmSync(join(this.folder, candidateFile), { force: true })
    }
  }

  private async refusal(container: string, config: object): Promise<string | null> {
    writeFileAtomically(join(this.folder, candidateFile), JSON.stringify({ ...config, logging: onlyErrors }), 0o600)
    const command = ['caddy', 'validate', '--config', `${ingressPaths.files}/${candidateFile}`]
    const { exitCode, output } = await this.options.engine.exec(container, command, trialWithinMs)
    if (exitCode === 0) return null
    if (exitCode === refusedExitCode) return caddyWords(output)
    throw new Error(`caddy validate ended with ${exitCode ?? 'no code'}`)
  }
}

/** What is read of the output is its beginning, and of a thousand hosts there may be many warnings. */
const onlyErrors = { logs: { default: { level: 'ERROR', writer: { output: 'stderr' }, encoder: { format: 'json' } } } }

function bySeniority(wanted: object, running: object): { served: string[]; others: string[] } {
  const before = partsOfHosts(running)
  const parts = [...partsOfHosts(wanted)]
  const same = ([host, part]: [string, string]) => before.get(host) === part
  return {
    served: parts.filter(same).map(([host]) => host),
    others: parts.filter((entry) => !same(entry)).map(([host]) => host),
  }
}
