import { pino, type DestinationStream, type Logger } from 'pino'

/** Fields that hold what nobody may read in a log, at the top of a line or up to two levels below. */
const secretFields = ['authorization', 'token', 'password', 'secret', 'value', 'values', 'valueBase64', 'sealed']

/** Structured logs on standard output. Values under these names never reach a log. */
export function createLogger(process: string, level: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: { process },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: secretFields.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]), censor: '«secret»' },
  }
  return destination ? pino(options, destination) : pino(options)
}
