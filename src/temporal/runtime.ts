import { DefaultLogger, Runtime, type LogLevel } from '@temporalio/worker'
import type { Logger } from 'pino'

const levels: Record<LogLevel, 'trace' | 'debug' | 'info' | 'warn' | 'error'> = {
  TRACE: 'trace',
  DEBUG: 'debug',
  INFO: 'info',
  WARN: 'warn',
  ERROR: 'error',
}

/**
 * One runtime a process, installed before anything else of Temporal. It leaves signals to the process's own shutdown,
 * and logs through the process's logger.
 */
export function installRuntime(logger: Logger, metricsPort?: number, metricsListen = '127.0.0.1'): void {
  Runtime.install({
    shutdownSignals: [],
    logger: new DefaultLogger('INFO', ({ level, message, meta }) => logger[levels[level]](meta ?? {}, message)),
    telemetryOptions: {
      logging: { filter: 'WARN', forward: {} },
      ...(metricsPort === undefined ? {} : { metrics: { prometheus: { bindAddress: `${metricsListen}:${metricsPort}` } } }),
    },
  })
}
