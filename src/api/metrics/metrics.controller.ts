import { Controller, Get, Inject, Req, Res } from '@nestjs/common'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Authenticator } from '../auth/authenticator.service.js'
import { Metrics } from './metrics.service.js'

/** A reader on this machine, not one that a proxy on this machine stands for. */
function local(request: IncomingMessage): boolean {
  const address = request.socket.remoteAddress ?? ''
  const loopback = address === '::1' || /^(::ffff:)?127\./.test(address)
  return loopback && request.headers['x-forwarded-for'] === undefined && request.headers.forwarded === undefined
}

@Controller()
export class MetricsController {
  constructor(
    @Inject(Metrics) private readonly metrics: Metrics,
    @Inject(Authenticator) private readonly authenticator: Authenticator,
  ) {}

  /** Prometheus text. Open on the loopback address; from elsewhere it needs a token (any ability reads). */
  @Get('metrics')
  async scrape(@Req() request: IncomingMessage, @Res() response: ServerResponse): Promise<void> {
    if (!local(request) && (await this.authenticator.find(request.headers.authorization)) === null) {
      response
        .writeHead(401, { 'content-type': 'text/plain', 'www-authenticate': 'Bearer' })
        .end('a token is needed from another machine\n')
      return
    }
    response.writeHead(200, { 'content-type': this.metrics.contentType }).end(await this.metrics.render())
  }
}
