import type { LoggerService } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { NestExpressApplication } from '@nestjs/platform-express'
import type { Logger } from 'pino'
import { ApiModule } from './api.module.js'
import type { ApiOptions } from './api.options.js'
import { measured, pageForBrowsers, refusedBody, refuseOtherUpgrades } from './http-middleware.js'
import { Metrics } from './metrics/metrics.service.js'

/** The API as an application that does not listen yet. */
export async function createApi(options: ApiOptions): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(ApiModule.of(options), {
    logger: nestLogger(options.log),
    bodyParser: false,
    abortOnError: false,
    forceCloseConnections: true,
  })
  app.disable('x-powered-by')
  app.disable('etag') // a hash of every answer, which nobody compares
  refuseOtherUpgrades(app.getHttpServer())
  app.use(measured(app.get(Metrics)))
  app.use('/graphql', pageForBrowsers)
  app.useBodyParser('json', { limit: options.limits.bodyBytes })
  app.use(refusedBody(options.limits.bodyBytes))
  return app
}

/** Nest's own words through the process's logger; its start-up chatter only for those who debug. */
function nestLogger(log: Logger): LoggerService {
  const text = (message: unknown) => (message instanceof Error ? message.message : String(message))
  return {
    log: (message: unknown) => log.debug(text(message)),
    debug: (message: unknown) => log.trace(text(message)),
    verbose: (message: unknown) => log.trace(text(message)),
    warn: (message: unknown) => log.warn(text(message)),
    error: (message: unknown, stack?: unknown) => log.error({ stack }, text(message)),
    fatal: (message: unknown) => log.fatal(text(message)),
  }
}
