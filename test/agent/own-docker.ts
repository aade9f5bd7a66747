import { randomBytes, randomInt } from 'node:crypto'
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import Docker from 'dockerode'
import { until } from './agent-world.js'

/**
 * A second Docker engine on this machine, so that a test can stop and kill one that nobody else uses. It has no firewall
 * rules and a default bridge of its own: an engine that is told to have none removes `docker0`, whoever uses it.
 */
export class OwnDocker {
  readonly folder = mkdtempSync(join(tmpdir(), 'docker-'))
  readonly socket = join(this.folder, 'd.sock')
  readonly docker = new Docker({ socketPath: this.socket })
  private readonly bridge = `ekb-${randomBytes(4).toString('hex')}`
  private child: ChildProcess | null = null

  static async start(images: string[]): Promise<OwnDocker> {
    const own = new OwnDocker()
    ip('link', 'add', own.bridge, 'type', 'bridge')
    ip('addr', 'add', `172.31.${randomInt(1, 255)}.1/24`, 'dev', own.bridge)
    ip('link', 'set', own.bridge, 'up')
    await own.start()
    for (const image of images) await own.load(image)
    return own
  }

  async start(): Promise<void> {
    const log = openSync(join(this.folder, 'log'), 'a')
    const at = (name: string) => join(this.folder, name)
    // The containerd of an engine that was killed dies with it, but may stay a zombie that a new engine takes for alive.
    rmSync(at('exec/containerd/containerd.pid'), { force: true })
    const child = spawn(
      'dockerd',
      [
        '--data-root',
        at('data'),
        '--exec-root',
        at('exec'),
        '--pidfile',
        at('pid'),
        '-H',
        `unix://${this.socket}`,
        `--bridge=${this.bridge}`,
        '--iptables=false',
        '--ip-masq=false',
      ],
      { stdio: ['ignore', log, log] },
    )
    this.child = child
    await until(
      async () =>
        this.docker.ping().then(
          () => true,
          () => false,
        ),
      20_000,
    )
  }

  /** `SIGKILL` leaves its containers running without it, as a crash does. */
  async stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const { child } = this
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill(signal)
    await ended
  }

  async dispose(): Promise<void> {
    await this.docker.ping().catch(() => this.start())
    const all = await this.docker.listContainers({ all: true })
    await Promise.all(
      all.map((c) =>
        this.docker
          .getContainer(c.Id)
          .remove({ force: true })
          .catch(() => undefined),
      ),
    )
    for (const { Name, Id } of await this.docker.listNetworks()) {
      if (!['bridge', 'host', 'none'].includes(Name))
        await this.docker
          .getNetwork(Id)
          .remove()
          .catch(() => undefined)
    }
    await this.stop('SIGTERM')
    // An engine that was killed has left its mounts behind.
    for (const path of mountsBelow(this.folder)) execFileSync('umount', [path])
    ip('link', 'delete', this.bridge)
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
  }

  private async load(image: string): Promise<void> {
    const archive = await new Docker().getImage(image).get()
    const answer = await this.docker.loadImage(archive)
    await pipeline(answer, async (stream) => {
      for await (const _ of stream) void _
    })
  }
}

/** The innermost first. */
function mountsBelow(folder: string): string[] {
  const paths = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
  return paths.filter((path) => path.startsWith(`${folder}/`)).reverse()
}

function ip(...args: string[]): void {
  execFileSync('ip', args)
}
