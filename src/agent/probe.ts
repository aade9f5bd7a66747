import { connect, type Socket } from 'node:net'
import type { ExecProbe, NetworkProbe, Probe } from '../reconcile/action.js'

export interface ProbeResult {
  ok: boolean
  message: string
}

/** A container as a probe finds it. */
export interface ProbeTarget {
  id: string
  address: string
}

export type RunProbe = (target: ProbeTarget, probe: Probe) => Promise<ProbeResult>

export function runProbes(
  network: Pick<ProbeRunner, 'run'>,
  inside: { run(containerId: string, probe: ExecProbe): Promise<ProbeResult> },
): RunProbe {
  return ({ id, address }, probe) => (probe.kind === 'exec' ? inside.run(id, probe) : network.run(address, probe))
}

export type RunNetworkProbe = (address: string, probe: NetworkProbe) => Promise<ProbeResult>

/** An answer's head is never longer than this, and more of a body is not read. */
const mostBytes = 16 * 1024

/**
 * Runs probes from the node to a container's address, so that no image needs tools for it. Plain sockets, because a
 * node runs hundreds of them a minute: a connect for TCP, one request without keep-alive for HTTP, where 2xx and 3xx
 * are success and redirects are not followed.
 */
export class ProbeRunner {
  private readonly localPorts = new Set<number>()

  readonly run: RunNetworkProbe = (address, probe) =>
    new Promise((resolve) => {
      const socket = connect({ host: address, port: probe.port })
      let decided = false
      const decide = (ok: boolean, message: string) => {
        if (decided) return
        decided = true
        resolve({ ok, message })
      }
      const timer = setTimeout(() => {
        decide(false, `no answer from port ${probe.port} within ${probe.timeoutMs} ms`)
        socket.destroy()
      }, probe.timeoutMs)
      socket.once('connect', () => {
        this.remember(socket)
        if (probe.kind === 'http') return request(socket, address, probe, decide)
        decide(true, `port ${probe.port} accepts connections`)
        socket.destroy()
      })
      socket.once('error', (error) =>
        decide(false, `port ${probe.port}: ${(error as NodeJS.ErrnoException).code ?? error.message}`),
      )
      socket.once('close', () => {
        clearTimeout(timer)
        decide(false, `port ${probe.port} closed the connection without an answer`)
      })
    })

  /** True for a local port that a running probe uses. */
  has(localPort: number): boolean {
    return this.localPorts.has(localPort)
  }

  private remember(socket: Socket): void {
    const { localPort } = socket
    if (localPort === undefined) return
    this.localPorts.add(localPort)
    socket.once('close', () => this.localPorts.delete(localPort))
  }
}

/** Reads on to the end of a short body after the status is known, so that the server does not see a reset. */
function request(
  socket: Socket,
  address: string,
  { port, path }: NetworkProbe,
  decide: (ok: boolean, message: string) => void,
): void {
  let head = ''
  let bytes = 0
  socket.on('data', (chunk) => {
    bytes += chunk.length
    if (bytes > mostBytes) return void socket.destroy()
    const before = statusIn(head)
    if (before !== null) return
    head += chunk.toString('latin1')
    const status = statusIn(head)
    if (status !== null) decide(status >= 200 && status < 400, `HTTP ${status} from ${path}`)
  })
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: ${address}:${port}\r\nUser-Agent: evenkeel-probe\r\nAccept: */*\r\nConnection: close\r\n\r\n`,
  )
}

/** The final status in what was received until now; informational answers (1xx) come before it. */
export function statusIn(text: string): number | null {
  const found = /^HTTP\/\d(?:\.\d)? (\d{3})/.exec(text)
  if (!found) return null
  const status = Number(found[1])
  if (status >= 200) return status
  const end = text.indexOf('\r\n\r\n')
  return end === -1 ? null : statusIn(text.slice(end + 4))
}
