import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type Docker from 'dockerode'
import { slotFileName, slotsPerTarget } from '../../src/adapters/caddy/endpoint-files.js'
import { freePort } from '../../src/embedded/ports.js'
import { CADDY_IMAGE } from '../../src/embedded/images/stand-ins.js'
import { until } from './live-instance.js'

/** A Caddy with a config that never changes: what it dials are the files that the agent writes. */
export class FixtureIngress {
  private constructor(
    private readonly docker: Docker,
    private readonly folder: string,
    private readonly container: Docker.Container,
    readonly url: string,
  ) {}

  static async start(docker: Docker, endpoints: string, target: string): Promise<FixtureIngress> {
    const port = await freePort()
    const folder = await mkdtemp(join(tmpdir(), 'ek-ingress-'))
    await chmod(folder, 0o755)
    await writeFile(join(folder, 'caddy.json'), JSON.stringify(config(port, target)))
    await mkdir(endpoints, { recursive: true })
    const container = await docker.createContainer({
      Image: CADDY_IMAGE,
      Cmd: ['caddy', 'run', '--config', '/config/caddy.json'],
      HostConfig: { NetworkMode: 'host', Binds: [`${folder}:/config:ro`, `${endpoints}:/endpoints:ro`] },
    })
    const ingress = new FixtureIngress(docker, folder, container, `http://127.0.0.1:${port}`)
    await ingress.startAgain()
    return ingress
  }

  /** After its engine was away. */
  async startAgain(): Promise<void> {
    await this.docker.getContainer(this.container.id).start().catch((error: { statusCode?: number }) => {
      if (error.statusCode !== 304) throw error
    })
    const answers = () => fetch(this.url, { signal: AbortSignal.timeout(5_000) }).then(() => true, () => false)
    await until('an answer of the ingress', answers, 20_000).catch(async (error: Error) => {
      const said = await this.docker.getContainer(this.container.id).logs({ stdout: true, stderr: true, tail: 5 })
      throw new Error(`${error.message}; it said: ${said.toString('utf8')}`)
    })
  }

  async stop(): Promise<void> {
    await this.container.remove({ force: true, v: true }).catch(() => undefined)
    await rm(this.folder, { recursive: true, force: true })
  }
}

function config(port: number, target: string): object {
  const upstreams = Array.from({ length: slotsPerTarget }, (_, slot) => ({ dial: `{file./endpoints/${slotFileName(target, slot)}}` }))
  return {
    admin: { disabled: true, config: { persist: false } },
    logging: { logs: { default: { level: 'ERROR' } } },
    apps: {
      http: {
        servers: {
          fixture: {
            listen: [`127.0.0.1:${port}`],
            automatic_https: { disable: true },
            routes: [
              {
                handle: [
                  {
                    handler: 'reverse_proxy',
                    upstreams,
                    load_balancing: { selection_policy: { policy: 'round_robin' }, try_duration: '2s', try_interval: '50ms' },
                    transport: { protocol: 'http', dial_timeout: '300ms', keep_alive: { idle_timeout: '5s' } },
                  },
                ],
              },
            ],
          },
        },
      },
    },
  }
}
