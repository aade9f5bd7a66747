import { request as plain, type IncomingHttpHeaders } from 'node:http'
import { request as secure } from 'node:https'
import type { TLSSocket } from 'node:tls'

export interface Answer {
  status: number
  headers: IncomingHttpHeaders
  text: string
  /** Of the certificate that was shown; null without TLS. */
  certificate: { serialNumber: string; issuer: string } | null
}

export interface Asked {
  port: number
  host: string
  path?: string
  tls?: boolean
  /** PEM of what the certificate has to be trusted by; absent = whatever is shown is taken. */
  trusted?: string
}

/** One request to this machine's ingress, over a connection of its own. */
export function ask({ port, host, path = '/', tls = false, trusted }: Asked): Promise<Answer> {
  const options = { host: '127.0.0.1', port, path, agent: false as const, headers: { host }, timeout: 10_000 }
  return new Promise((resolve, reject) => {
    const asked = tls
      ? secure({ ...options, servername: host, ...(trusted === undefined ? { rejectUnauthorized: false } : { ca: trusted }) })
      : plain(options)
    asked.once('timeout', () => asked.destroy(new Error(`${host} gave no answer in time`)))
    asked.once('error', reject)
    asked.once('response', (response) => {
      let text = ''
      const shown = tls ? (response.socket as TLSSocket).getPeerCertificate() : null
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => (text += chunk))
      response.once('error', reject)
      response.once('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          certificate: shown && { serialNumber: shown.serialNumber, issuer: String(shown.issuer.CN ?? shown.issuer.O) },
        }),
      )
    })
    asked.end()
  })
}

/** The same, with nothing where there is no answer at all. */
export function askSafely(asked: Asked): Promise<Answer | null> {
  return ask(asked).catch(() => null)
}
