import { pino, type Logger } from 'pino'

/** Structured logs on standard output. Values under these names never reach a log. */
export function createLogger(process: string, level: string): Logger {
  return pino({
    level,
    base: { process },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: ['authorization', '*.authorization', 'token', '*.token', 'password', '*.password', 'secret', '*.secret'], censor: '«secret»' },
  })
}
