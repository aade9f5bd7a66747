import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Metrics } from './metrics/metrics.service.js'
import { queryPage, queryPagePolicy } from './page/query-page.js'

type Next = (error?: unknown) => void

const knownPaths = new Set(['/graphql', '/healthz', '/readyz', '/metrics'])

/** Measures every request; unknown paths count as one, so that a scanner makes no new series. */
export function measured(metrics: Metrics) {
  return (request: IncomingMessage, response: ServerResponse, next: Next): void => {
    const stop = metrics.httpSeconds.startTimer()
    const path = request.url?.split('?')[0] ?? ''
    response.once('finish', () => {
      stop({ method: request.method ?? '', path: knownPaths.has(path) ? path : 'other', status: String(response.statusCode) })
    })
    next()
  }
}

/** A browser that opens /graphql gets the page to ask questions with; everything else goes on to GraphQL. */
export function pageForBrowsers(request: IncomingMessage, response: ServerResponse, next: Next): void {
  const wantsPage = request.method === 'GET' && request.headers.accept?.includes('text/html') === true
  if (!wantsPage || request.url?.includes('query=')) return next()
  response
    .writeHead(200, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': queryPagePolicy,
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    })
    .end(queryPage)
}

/** Paths where a WebSocket may be opened: each has a gateway of its own that answers. */
const webSocketPaths = new Set(['/graphql', '/agent', '/exec'])

/** Every other upgrade is refused; nobody else would answer it, and its connection would stay open for ever. */
export function refuseOtherUpgrades(server: Server): void {
  server.on('upgrade', (request: IncomingMessage, socket: Duplex) => {
    if (webSocketPaths.has(/^\/[^/?]*/.exec(request.url ?? '')?.[0] ?? '')) return
    socket.on('error', () => socket.destroy())
    socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
  })
}

/** A body that is too long or no JSON, told in the shape of a GraphQL error. */
export function refusedBody(bodyBytes: number) {
  return (error: { status?: number; type?: string }, _request: IncomingMessage, response: ServerResponse, next: Next): void => {
    const status = error.status ?? 500
    if (status >= 500 || response.headersSent) return next(error)
    const tooLarge = error.type === 'entity.too.large'
    const message = tooLarge ? `the body is longer than ${bodyBytes} bytes` : 'the body is no JSON object in UTF-8'
    const errors = [{ message, extensions: { code: tooLarge ? 'BODY_TOO_LARGE' : 'BAD_REQUEST' } }]
    response.writeHead(status, { 'content-type': 'application/json', connection: 'close' }).end(JSON.stringify({ errors }))
  }
}
