import type { HttpAdapterHost } from '@nestjs/core'
import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'

export interface Upgrades {
  /** Whether a request for this address is meant; all others are left to those who know them. */
  matches(url: string): boolean
  admit(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>
  /** Told when `admit` throws; the client gets a 503. */
  failed(error: unknown): void
}

/** Listens for WebSockets of one kind. */
export function onUpgrade({ httpAdapter }: HttpAdapterHost, { matches, admit, failed }: Upgrades): void {
  const server = httpAdapter.getHttpServer() as Server
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (!matches(request.url ?? '')) return
    socket.on('error', () => socket.destroy())
    void admit(request, socket, head).catch((error: unknown) => {
      failed(error)
      refuseUpgrade(socket, 503, 'Service Unavailable')
    })
  })
}

export function refuseUpgrade(socket: Duplex, status: number, text: string): void {
  socket.end(`HTTP/1.1 ${status} ${text}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
}
