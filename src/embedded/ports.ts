import { randomInt } from 'node:crypto'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { commandLine } from './processes.js'

const LOOPBACK = '127.0.0.1'
/** The state number of a listening socket in /proc/net/tcp. */
const LISTEN = '0A'

/** Refuses a port that cannot be listened on, and names who holds it. */
export async function requireFreePort(port: number, purpose: string, setting: string, host = LOOPBACK): Promise<void> {
  const error = await tryListen(port, host)
  if (!error) return
  if (error.code !== 'EADDRINUSE')
    throw new Error(`Port ${port} for ${purpose} cannot be used: ${error.message}. Choose another with ${setting}.`)
  const holder = portHolder(port)
  const who = holder ? `process ${holder.pid} (${holder.command})` : 'a process of another user'
  throw new Error(`Port ${port} for ${purpose} is taken by ${who}. End it, or choose another port with ${setting}.`)
}

/** The first of these ports that can be listened on, on every address; the last when none can. */
export async function firstFreePort(ports: [number, ...number[]]): Promise<number> {
  for (const port of ports) if ((await tryListen(port, '0.0.0.0')) === undefined) return port
  return ports.at(-1) ?? ports[0]
}

/** Listening and closing again is the only question that the kernel answers truthfully. */
function tryListen(port: number, host: string): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error))
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(undefined)))
  })
}

const chosenPorts = new Set<number>()

/**
 * A port that nobody listens on, for what may listen anywhere. It is none that the kernel gives to outgoing connections, if it
 * leaves enough: one of those may be gone again before its program listens on it. Never the same one twice in a process.
 */
export async function freePort(kernelRange = readOr('/proc/sys/net/ipv4/ip_local_port_range', '32768 60999')): Promise<number> {
  const [first, last] = choosable(kernelRange)
  const begin = randomInt(first, last + 1)
  for (let step = 0; step <= last - first; step++) {
    const port = first + ((begin - first + step) % (last - first + 1))
    if (chosenPorts.has(port)) continue
    chosenPorts.add(port)
    if ((await tryListen(port, '0.0.0.0')) === undefined) return port
  }
  throw new Error(`No free port was found between ${first} and ${last}.`)
}

const FIRST_CHOICE = 10_000

/** Of the two gaps beside the kernel's own range (`first last`) the larger one; all ports when it leaves none worth the name. */
export function choosable(kernelRange: string): [first: number, last: number] {
  const [low = 0, high = 0] = kernelRange.trim().split(/\s+/).map(Number)
  const below: [number, number] = [FIRST_CHOICE, low - 1]
  const above: [number, number] = [high + 1, 65_535]
  const size = ([first, last]: [number, number]) => last - first
  const larger = size(below) >= size(above) ? below : above
  return size(larger) >= 1_000 ? larger : [FIRST_CHOICE, 65_535]
}

export interface PortHolder {
  readonly pid: number
  readonly command: string
}

/** The process that listens on a TCP port of this machine; nothing when it is hidden from us. */
export function portHolder(port: number): PortHolder | undefined {
  const inodes = new Set(['/proc/net/tcp', '/proc/net/tcp6'].flatMap((table) => listeningInodes(readOr(table, ''), port)))
  if (inodes.size === 0) return undefined
  const sockets = new Set([...inodes].map((inode) => `socket:[${inode}]`))
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry)
    if (Number.isInteger(pid) && openFiles(pid).some((file) => sockets.has(file))) {
      return { pid, command: commandLine(pid).slice(0, 3).join(' ') }
    }
  }
  return undefined
}

/** The socket inodes that listen on `port`, from the text of /proc/net/tcp or tcp6. */
export function listeningInodes(table: string, port: number): string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return table
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((columns) => columns[1]?.endsWith(suffix) && columns[3] === LISTEN)
    .flatMap((columns) => columns[9] ?? [])
}

function openFiles(pid: number): string[] {
  const folder = `/proc/${pid}/fd`
  try {
    return readdirSync(folder).map((fd) => readlinkOr(`${folder}/${fd}`, ''))
  } catch {
    return []
  }
}

function readOr(path: string, otherwise: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return otherwise
  }
}

function readlinkOr(path: string, otherwise: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return otherwise
  }
}
