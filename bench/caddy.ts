import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type Docker from 'dockerode'
import { CaddyAdmin, CaddyAway } from '../src/adapters/caddy/admin-client.js'
import { ingressDefaults, ingressPaths, ingressRuntime } from '../src/reconcile/ingress/spec.js'

const upWithinMs = 20_000
const admin = { admin: { listen: `unix/${ingressPaths.adminSocket}|0660` } }

/** A Caddy of the bench's own, in the host's network as the platform's: what is compared differs in its configuration alone. */
export class BenchCaddy {
  private constructor(
    private readonly container: Docker.Container,
    private readonly folder: string,
    private readonly admin: CaddyAdmin,
  ) {}

  /** As the platform runs it. `files`: name → content, below the folder of endpoints. */
  static startOurs(docker: Docker, files: ReadonlyMap<string, string> = new Map()): Promise<BenchCaddy> {
    return BenchCaddy.start(docker, files, ingressRuntime)
  }

  /** As it comes. */
  static startPlain(docker: Docker): Promise<BenchCaddy> {
    return BenchCaddy.start(docker, new Map(), [])
  }

  private static async start(
    docker: Docker,
    files: ReadonlyMap<string, string>,
    runtime: [string, string][],
  ): Promise<BenchCaddy> {
    const folder = await mkdtemp(join(tmpdir(), 'ek-bench-'))
    const own = (path: string) => join(folder, path.slice(1).replaceAll('/', '-'))
    const mounts = [
      ingressPaths.endpoints,
      ingressPaths.sockets,
      ingressPaths.secrets,
      ingressPaths.files,
      ingressPaths.data,
      ingressPaths.config,
    ]
    for (const path of mounts) await mkdir(own(path))
    for (const [name, content] of files) await writeFile(join(own(ingressPaths.endpoints), name), content)
    await writeFile(join(own(ingressPaths.config), 'boot.json'), JSON.stringify(admin))
    const container = await docker.createContainer({
      Image: ingressDefaults.image,
      Cmd: ['caddy', 'run', '--config', `${ingressPaths.config}/boot.json`],
      Env: [
        `XDG_DATA_HOME=${ingressPaths.data}`,
        `XDG_CONFIG_HOME=${ingressPaths.config}`,
        ...runtime.map(([name, value]) => `${name}=${value}`),
      ],
      HostConfig: { NetworkMode: 'host', Binds: mounts.map((path) => `${own(path)}:${path}`) },
    })
    await container.start()
    const socket = join(own(dirname(ingressPaths.adminSocket)), 'admin.sock')
    const caddy = new BenchCaddy(container, folder, new CaddyAdmin(socket))
    await caddy.untilUp()
    return caddy
  }

  /** Every configuration has to name the socket, or Caddy would move its admin interface elsewhere. */
  load(config: object): Promise<void> {
    return this.admin.load(JSON.stringify({ ...admin, ...config }), AbortSignal.timeout(30_000))
  }

  readBack(): Promise<string> {
    return this.admin.config(AbortSignal.timeout(30_000))
  }

  /** What it holds in memory now, in MB. */
  async memoryMb(): Promise<number> {
    const { State } = await this.container.inspect()
    const status = await readFile(`/proc/${State.Pid}/status`, 'utf8')
    return Math.round(Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1_024)
  }

  async stop(): Promise<void> {
    await this.container.remove({ force: true, v: true })
    await rm(this.folder, { recursive: true, force: true })
  }

  private async untilUp(): Promise<void> {
    const deadline = Date.now() + upWithinMs
    for (;;) {
      try {
        await this.readBack()
        return
      } catch (error) {
        if (!(error instanceof CaddyAway) || Date.now() > deadline) throw error
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
  }
}
