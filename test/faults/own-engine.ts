import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Docker from 'dockerode'
import { lastWords } from '../../src/embedded/last-words.js'
import { run } from '../../src/embedded/program.js'
import { alive } from '../../src/embedded/processes.js'
import { until } from './live-instance.js'

const bridge = `ek-t${process.pid}`

/**
 * A second Docker engine beside the machine's own, to be killed and started again. It leaves the firewall alone, which
 * the other one manages: containers are reached by their addresses, and published ports by Docker's proxy.
 */
export class OwnEngine {
  private process: ChildProcess | undefined

  private constructor(private readonly folder: string) {}

  static async start(): Promise<OwnEngine> {
    const engine = new OwnEngine(await mkdtemp(join(tmpdir(), 'ek-dockerd-')))
    await run('ip', ['link', 'add', bridge, 'type', 'bridge'])
    await run('ip', ['addr', 'add', '172.28.77.1/24', 'dev', bridge])
    await run('ip', ['link', 'set', bridge, 'up'])
    await engine.startAgain()
    return engine
  }

  get host(): string {
    return `unix://${join(this.folder, 'docker.sock')}`
  }

  get docker(): Docker {
    return new Docker({ socketPath: join(this.folder, 'docker.sock') })
  }

  /** As systemd does it: one that cannot start, as happens after a kill in the middle of a creation, is started once more. */
  async startAgain(): Promise<void> {
    const answers = () => this.docker.ping().then(() => true, () => false)
    const ended = (): boolean => this.process === undefined || this.process.exitCode !== null || this.process.signalCode !== null
    await until(
      'an answer of the engine',
      async () => {
        if (ended()) this.spawn()
        return answers()
      },
      120_000,
    ).catch(async (error: Error) => {
      throw new Error(`${error.message}; it said: ${lastWords(await readFile(join(this.folder, 'dockerd.log'), 'utf8'))}`)
    })
  }

  private spawn(): void {
    const at = (name: string): string => join(this.folder, name)
    const log = openSync(at('dockerd.log'), 'a', 0o600)
    this.process = spawn(
      'dockerd',
      [
        ...['--host', this.host, '--data-root', at('data'), '--exec-root', at('exec'), '--pidfile', at('dockerd.pid')],
        // docker0 is the other engine's: "none", and a restart with address pools of its own, would remove it.
        ...['--bridge', bridge],
        ...['--iptables=false', '--ip6tables=false', '--log-level', 'warn'],
      ],
      { stdio: ['ignore', log, log] },
    )
    closeSync(log)
  }

  /** Copies images from the machine's own engine. */
  async bring(images: readonly string[]): Promise<void> {
    const file = join(this.folder, 'images.tar')
    await run('docker', ['save', '-o', file, ...images])
    await run('docker', ['load', '-i', file], { env: { DOCKER_HOST: this.host } })
    await rm(file)
  }

  async kill(): Promise<void> {
    await this.end('SIGKILL')
  }

  /** As a shutdown of the machine does it: containers get their signal and their grace. */
  async stop(): Promise<void> {
    await this.end('SIGTERM')
  }

  async destroy(): Promise<void> {
    if (this.process?.exitCode !== null || this.process.signalCode !== null) await this.startAgain().catch(() => undefined)
    for (const { Id } of await this.docker.listContainers({ all: true }).catch(() => [])) await this.docker.getContainer(Id).remove({ force: true }).catch(() => undefined)
    for (const { Id } of await this.docker.listNetworks().catch(() => [])) await this.docker.getNetwork(Id).remove().catch(() => undefined)
    await this.stop()
    const containerd = Number(await readFile(join(this.folder, 'exec', 'containerd', 'containerd.pid'), 'utf8').catch(() => ''))
    if (containerd > 0 && alive(containerd)) process.kill(containerd, 'SIGTERM')
    await run('ip', ['link', 'del', bridge])
    // What the engine mounted inside of its folder outlives it.
    const mounts = (await readFile('/proc/mounts', 'utf8')).split('\n').map((line) => line.split(' ')[1] ?? '')
    for (const path of mounts.filter((m) => m.startsWith(`${this.folder}/`)).reverse()) await run('umount', ['-l', path])
    await rm(this.folder, { recursive: true, force: true })
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const { process: child } = this
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }
}
