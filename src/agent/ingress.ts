import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { certificateErrors } from '../adapters/caddy/certificate-errors.js'
import { CaddyAdmin, CaddyAway, CaddyRefusal } from '../adapters/caddy/admin-client.js'
import { servedCertificate } from '../adapters/caddy/served-certificate.js'
import type { NodeEngine } from '../adapters/docker/node-engine.js'
import { portHolder } from '../adapters/docker/port-holder.js'
import type { ArgsOf, ResultOf, SecretRef } from '../reconcile/action.js'
import { canonicalJson } from '../reconcile/hash.js'
import { hostsOfCertificate, partsOfHosts } from '../reconcile/ingress/config-hosts.js'
import { ownCertificateProblem } from '../reconcile/ingress/own-certificate.js'
import { label } from '../reconcile/labels.js'
import type { ObservedIngress, ObserveRequest } from '../reconcile/observed.js'
import { ActionFailure } from './action-failure.js'
import { ConfigTrial } from './config-trial.js'
import type { ArtifactSource, Clock, IngressNode, SecretSource } from './ports.js'
import type { RefusedHost } from './refused-hosts.js'
import { readFileIfThere, writeFileAtomically } from './state-file.js'
import { stateFolder } from './state-folders.js'

/** Caddy opens its socket within moments of its start; a busy machine may need longer. */
const socketWithinMs = 10_000
const pollMs = 50
const observeWithinMs = 5_000
/** Enough for what went wrong since the last look, also with many hosts. */
const logLines = 2_000
/** The answer goes through a history. */
const refusedMost = 50
const fileFolders = ['ingress/secrets', 'ingress/files'] as const

export interface IngressOptions {
  instance: string
  engine: Pick<NodeEngine, 'list' | 'logs' | 'exec'>
  stateDir: string
  clock: Clock
  secrets: SecretSource
  artifacts: ArtifactSource
}

/** This node's Caddy, by way of its admin socket and of the files that its configuration names. */
export class Ingress implements IngressNode {
  private readonly admin: CaddyAdmin
  /** Files were written that no load has read since. */
  private unread = false

  constructor(private readonly options: IngressOptions) {
    this.admin = new CaddyAdmin(join(stateFolder(options.stateDir, 'ingress/sockets'), 'admin.sock'))
  }

  async load(args: ArgsOf<'loadIngressConfig'>, signal: AbortSignal): Promise<ResultOf['loadIngressConfig']> {
    const wanted = (await this.options.artifacts.get(args.config, signal)).toString('utf8')
    const loaded = await this.loaded(signal)
    const contents = await this.contentsOf(args, signal)
    const config = JSON.parse(wanted) as object
    const unusable = unusableCertificates(config, contents)
    if (unusable.length > 0) return notLoaded(config, unusable)
    this.unread = this.putFiles(contents) || this.unread
    // It may be the same text: what Caddy reads from files would stay what it was.
    const refused = loaded !== args.config || this.unread ? await this.loadInto(wanted, signal) : []
    if (refused.length > 0) return notLoaded(config, refused)
    this.unread = false
    const now = await this.loaded(signal)
    if (now !== args.config)
      throw new ActionFailure(
        'ConfigNotKept',
        `Caddy shows configuration ${now?.slice(0, 12) ?? 'none'} after ${args.config.slice(0, 12)} was loaded`,
        true,
      )
    this.removeFilesBut(contents)
    return { loaded: now }
  }

  async observe({ httpsPort, hosts }: NonNullable<ObserveRequest['ingress']>): Promise<ObservedIngress> {
    const loaded = await this.hashOfLoaded(AbortSignal.timeout(observeWithinMs)).catch(() => null)
    if (loaded === null) return { loaded, certificates: {} }
    const shown = await Promise.all(hosts.map(async (host) => [host, await servedCertificate(host, httpsPort)] as const))
    const missing = shown.some(([, { error }]) => error !== null)
    const errors = missing ? await this.certificateErrors().catch(() => new Map<string, string>()) : new Map<string, string>()
    const told = shown.map(
      ([host, seen]) => [host, seen.error === null ? seen : { ...seen, error: errors.get(host) ?? seen.error }] as const,
    )
    return { loaded, certificates: Object.fromEntries(told) }
  }

  /** A handshake only tells that there is none; why, Caddy writes into its log. */
  private async certificateErrors(): Promise<Map<string, string>> {
    const { engine } = this.options
    const caddy = await this.caddy()
    if (!caddy) return new Map()
    const lines: string[] = []
    const options = { follow: false, tail: logLines, sinceMs: null, streams: ['stderr'] as const }
    await engine.logs(caddy.id, options, ({ text }) => void lines.push(text), AbortSignal.timeout(observeWithinMs))
    return certificateErrors(lines)
  }

  private async caddy() {
    const { engine, instance } = this.options
    return (await engine.list({ [label.instance]: instance, [label.kind]: 'ingress' })).find((c) => c.state === 'running')
  }

  private async hashOfLoaded(signal: AbortSignal): Promise<string> {
    const text = canonicalJson(JSON.parse(await this.admin.config(signal)))
    return createHash('sha256').update(text).digest('hex')
  }

  /** Waits for a Caddy that has just been started. */
  private async loaded(signal: AbortSignal): Promise<string | null> {
    const { clock } = this.options
    const deadline = clock.now() + socketWithinMs
    for (;;) {
      try {
        return await this.hashOfLoaded(signal)
      } catch (error) {
        if (!(error instanceof CaddyAway)) throw error
        // Who waits for one that is gone keeps its container from being made again.
        if (clock.now() > deadline || !(await this.caddy()))
          throw new ActionFailure('IngressNotRunning', `Caddy does not answer on its socket: ${error.message}`, true)
        await clock.sleep(pollMs, signal)
      }
    }
  }

  /** Answers the hosts for which Caddy refused it; what was loaded before goes on then. */
  private async loadInto(config: string, signal: AbortSignal): Promise<RefusedHost[]> {
    try {
      await this.admin.load(config, signal)
      return []
    } catch (error) {
      if (error instanceof CaddyAway) throw new ActionFailure('IngressNotRunning', error.message, true)
      if (!(error instanceof CaddyRefusal)) throw error
      const failure = await explained(error.message)
      const refused = failure.reason === 'ConfigRefused' ? await this.refusedHosts(config, signal) : []
      if (refused.length === 0) throw failure
      return refused
    }
  }

  /** None where they cannot be found out: then the configuration is refused as a whole. */
  private async refusedHosts(config: string, signal: AbortSignal): Promise<RefusedHost[]> {
    try {
      const running = JSON.parse(await this.admin.config(signal)) as object
      const caddy = await this.caddy()
      const trial = new ConfigTrial(this.options, this.folderOf('ingress/files'))
      return caddy ? await trial.refusedHosts(caddy.id, JSON.parse(config) as object, running ?? {}, signal) : []
    } catch {
      signal.throwIfAborted()
      return []
    }
  }

  /** What the configuration names, by path: all of it is here before any is written. */
  private async contentsOf({ secrets, files }: ArgsOf<'loadIngressConfig'>, signal: AbortSignal): Promise<Contents> {
    const contents: Contents = new Map(
      files.map(({ file, content }) => [join(this.folderOf('ingress/files'), file), { file, content, problem: null }]),
    )
    for (const { file, resource, secret, version } of secrets) {
      const path = join(this.folderOf('ingress/secrets'), file)
      contents.set(path, { file, ...(await this.certificate(resource, { secret, version }, path, signal)) })
    }
    return contents
  }

  /** That one is not told is about the hosts that are served with it, and about no other. */
  private async certificate(resource: string, ref: SecretRef, path: string, signal: AbortSignal): Promise<Omit<Content, 'file'>> {
    try {
      const values = await this.options.secrets.values(resource, [ref], signal)
      const content = [...values.values()][0] ?? ''
      return { content, problem: ownCertificateProblem(content) }
    } catch (error) {
      if (!(error instanceof ActionFailure) || error.reason !== 'RequiredSecretMissing') throw error
      // Its name says which version it is, so one that Caddy has already is the same.
      const content = readFileIfThere(path)
      const problem = content === null ? `cannot be had: ${error.message}` : ownCertificateProblem(content)
      return { content: content ?? '', problem }
    }
  }

  /** Answers whether any of it is new. */
  private putFiles(contents: Contents): boolean {
    const changed = [...contents].filter(([path, { content }]) => readFileIfThere(path) !== content)
    for (const [path, { content }] of changed) writeFileAtomically(path, content, 0o600)
    return changed.length > 0
  }

  /** Only once the new configuration is there: the one before may still read its own. */
  private removeFilesBut(wanted: Contents): void {
    const paths = fileFolders
      .map((name) => this.folderOf(name))
      .flatMap((folder) => readdirSync(folder).map((file) => join(folder, file)))
    for (const path of paths) if (!wanted.has(path)) rmSync(path, { force: true })
  }

  private folderOf(name: (typeof fileFolders)[number]): string {
    const folder = stateFolder(this.options.stateDir, name)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    return folder
  }
}

/** With what it says of each host: by the time that this is read, somebody may have changed it. */
function notLoaded(config: object, refused: RefusedHost[]): ResultOf['loadIngressConfig'] {
  const named = refused.slice(0, refusedMost)
  const parts = partsOfHosts(
    config,
    named.map(({ host }) => host),
  )
  return { loaded: null, refused: named.map(({ host, message }) => ({ host, message, part: parts.get(host) ?? '' })) }
}

/** `problem`: why Caddy could not read it, in words that follow on «its certificate». */
interface Content {
  file: string
  content: string
  problem: string | null
}

/** By path. */
type Contents = Map<string, Content>

/** Caddy refuses a whole configuration for one such file, and does not say which. */
function unusableCertificates(config: object, contents: Contents): RefusedHost[] {
  return [...contents.values()].flatMap(({ file, problem }) =>
    problem === null ? [] : hostsOfCertificate(config, file).map((host) => ({ host, message: `its certificate ${problem}` })),
  )
}

/** Names who has the port where that is what is wrong: Caddy only says that it is taken. */
async function explained(message: string): Promise<ActionFailure> {
  const [, port] = /listen(?:ing on)? \S*:(\d+)[^\n]*address already in use/.exec(message) ?? []
  if (port === undefined) return new ActionFailure('ConfigRefused', message, true)
  const holder = await portHolder(Number(port)).catch(() => null)
  return new ActionFailure(
    'PortTaken',
    `port ${port} is held by ${holder ?? 'another program'}: end it, or give the ingress other ports`,
    true,
  )
}
