import { connect } from 'node:tls'
import type { CertificateState } from '../../reconcile/observed.js'

const timeoutMs = 2_000

/** What a client that connects to `port` of this machine and asks for `host` is shown. Never fails. */
export function servedCertificate(host: string, port: number): Promise<CertificateState> {
  return new Promise((resolve) => {
    const fail = (error: string) => done({ issuer: null, notAfter: null, error })
    // Whether the certificate is trusted is for the client to say: one of our own authority is not, by most.
    const socket = connect({ host: '127.0.0.1', port, servername: asName(host), rejectUnauthorized: false, timeout: timeoutMs })
    const done = (seen: CertificateState) => {
      socket.destroy()
      resolve(seen)
    }
    socket.once('timeout', () => fail(`no answer within ${timeoutMs / 1000} s`))
    socket.once('error', (error) => fail(reasonOf(error)))
    socket.once('secureConnect', () => {
      const { issuer, valid_to: validTo } = socket.getPeerCertificate()
      done({ issuer: textOf(issuer?.O) ?? textOf(issuer?.CN) ?? 'unknown', notAfter: Date.parse(validTo), error: null })
    })
  })
}

/** Some name that a wildcard covers. */
function asName(host: string): string {
  return host.startsWith('*.') ? `evenkeel-looks${host.slice(1)}` : host
}

function textOf(field: string | string[] | undefined): string | null {
  return (Array.isArray(field) ? field[0] : field) ?? null
}

/** An alert is all that Caddy gives for a host without a certificate. */
function reasonOf(error: Error): string {
  return /alert internal error|unrecognized name|tlsv1 alert/i.test(error.message) ? 'there is no certificate yet' : error.message
}
