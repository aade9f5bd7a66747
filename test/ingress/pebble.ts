import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cacheDir } from '../../src/embedded/cache-dir.js'
import { installGoProgram } from '../../src/embedded/images/go-program.js'
import { freePort } from '../../src/embedded/ports.js'
import { until } from '../faults/live-instance.js'

const pebbleVersion = 'v2.10.3'
const modulePath = 'github.com/letsencrypt/pebble/v2/cmd'

export interface PebbleOptions {
  /** Where it asks for the tokens of HTTP-01 and TLS-ALPN-01; a port where nobody is leaves one way only. */
  httpPort: number
  tlsPort: number
  /** How long its certificates live. */
  validitySeconds?: number
}

/** A real ACME server, offline: every name is at 127.0.0.1 for it. */
export class Pebble {
  private constructor(
    private readonly folder: string,
    private readonly processes: ChildProcess[],
    readonly directory: string,
    /** PEM of what its own TLS is trusted by. */
    readonly trustedRoots: string,
    private readonly managementPort: number,
    private readonly log: string[],
  ) {}

  static async start(options: PebbleOptions): Promise<Pebble> {
    const [server, dns] = [
      await installGoProgram(cacheDir(), `${modulePath}/pebble`, pebbleVersion),
      await installGoProgram(cacheDir(), `${modulePath}/pebble-challtestsrv`, pebbleVersion),
    ]
    const folder = await mkdtemp(join(tmpdir(), 'ek-pebble-'))
    const [port, managementPort, dnsPort, dnsManagement] = [
      await freePort(),
      await freePort(),
      await freePort(),
      await freePort(),
    ]
    const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
    await promisify(execFile)('openssl', [
      ...[
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:P-256',
        '-nodes',
        '-days',
        '2',
        '-subj',
        '/CN=pebble of a test',
      ],
      ...['-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', certificate],
    ])
    const config = {
      pebble: {
        listenAddress: `127.0.0.1:${port}`,
        managementListenAddress: `127.0.0.1:${managementPort}`,
        certificate,
        privateKey: key,
        httpPort: options.httpPort,
        tlsPort: options.tlsPort,
        ocspResponderURL: '',
        externalAccountBindingRequired: false,
        retryAfter: { authz: 1, order: 1 },
        profiles: { default: { description: 'the only one', validityPeriod: options.validitySeconds ?? 7_776_000 } },
      },
    }
    await writeFile(join(folder, 'pebble.json'), JSON.stringify(config))
    const nobody = ['-http01', '', '-https01', '', '-tlsalpn01', '', '-doh', '']
    const names = spawn(
      dns,
      [
        '-defaultIPv4',
        '127.0.0.1',
        '-defaultIPv6',
        '',
        '-dnsserver',
        `127.0.0.1:${dnsPort}`,
        '-management',
        `127.0.0.1:${dnsManagement}`,
        ...nobody,
      ],
      { stdio: 'ignore' },
    )
    const acme = spawn(server, ['-config', join(folder, 'pebble.json'), '-dnsserver', `127.0.0.1:${dnsPort}`, '-strict=false'], {
      env: { ...process.env, PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '0' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const log: string[] = []
    for (const stream of [acme.stdout, acme.stderr])
      stream.on('data', (chunk: Buffer) => log.push(...chunk.toString().split('\n')))
    const pebble = new Pebble(
      folder,
      [names, acme],
      `https://127.0.0.1:${port}/dir`,
      await readFile(certificate, 'utf8'),
      managementPort,
      log,
    )
    await until(
      'an answer of pebble',
      () =>
        pebble.root().then(
          () => true,
          () => false,
        ),
      20_000,
    )
    return pebble
  }

  /** Certificates that it has issued so far. */
  get issued(): number {
    return this.log.filter((line) => line.includes('Issued certificate')).length
  }

  /** PEM of the root that its certificates are trusted by. */
  root(): Promise<string> {
    return new Promise((resolve, reject) => {
      const agent = new Agent({ rejectUnauthorized: false })
      const asked = request(`https://127.0.0.1:${this.managementPort}/roots/0`, { agent }, (response) => {
        let text = ''
        response.on('data', (chunk: Buffer) => (text += chunk.toString()))
        response.on('end', () => resolve(text))
      })
      asked.on('error', reject)
      asked.end()
    })
  }

  async stop(): Promise<void> {
    for (const child of this.processes) child.kill('SIGKILL')
    await rm(this.folder, { recursive: true, force: true })
  }
}
