import { createServer as createPlainServer, type AddressInfo, type Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createServer, type TlsOptions } from 'node:tls'
import { afterEach, describe, expect, it } from 'vitest'
import { servedCertificate } from './served-certificate.js'

/** Of a test alone: nobody trusts it, and it is valid for a hundred years. */
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgdq1DHJsZn5P5OR3X
oGEAOPd6ibZ99Oe9A/aykyZlH/KhRANCAARtzEydoZnXlrFHkc9mGh4SATWla7ev
ajjHqwHp/XBSl8y2HgaxK/4YEke3TDUFHwm1AVs29dJcK2OeL4KxBEtx
-----END PRIVATE KEY-----`
const cert = `-----BEGIN CERTIFICATE-----
MIIBvjCCAWSgAwIBAgIUS8EN9TYbvfGZD7/RksI+OFAmhs0wCgYIKoZIzj0EAwIw
KjEXMBUGA1UECgwOVGVzdCBBdXRob3JpdHkxDzANBgNVBAMMBmEudGVzdDAgFw0y
NjExMjkyMjQyMjlaGA8yMTI2MTEwNTIyNDIyOVowKjEXMBUGA1UECgwOVGVzdCBB
dXRob3JpdHkxDzANBgNVBAMMBmEudGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEH
A0IABG3MTJ2hmdeWsUeRz2YaHhIBNaVrt69qOMerAen9cFKXzLYeBrEr/hgSR7dM
NQUfCbUBWzb10lwrY54vgrEES3GjZjBkMB0GA1UdDgQWBBQKLdLZNMfvrwuz/1yv
dYz1j3OGTDAfBgNVHSMEGDAWgBQKLdLZNMfvrwuz/1yvdYz1j3OGTDAPBgNVHRMB
Af8EBTADAQH/MBEGA1UdEQQKMAiCBmEudGVzdDAKBggqhkjOPQQDAgNIADBFAiEA
p7Lc/ke2bCR8v/VrAnXwDS80a+ckHV7h3Ox/17yLF50CIBiRZQgJhhUnsuzukkK2
B5mRh4LyYELqK3zaapIsQrWb
-----END CERTIFICATE-----`
const until = Date.UTC(2126, 10, 5, 22, 42, 29)

/** TLS's fatal alert internal_error: what Caddy answers for a name without a certificate. */
const internalError = Buffer.from([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x50])

describe('servedCertificate', () => {
  const servers: Server[] = []
  afterEach(() => servers.splice(0).forEach((s) => s.close()))

  function listening(server: Server): Promise<number> {
    servers.push(server)
    return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)))
  }
  const secure = (options: TlsOptions = {}) => listening(createServer({ key, cert, ...options }))

  it('a certificate that nobody trusts -> who issued it and until when it is valid', async () => {
    expect(await servedCertificate('a.test', await secure())).toEqual({ issuer: 'Test Authority', notAfter: until, error: null })
  })

  it('a host -> is what the server is asked for; a wildcard -> a name that it covers', async () => {
    const asked: string[] = []
    const port = await secure({ SNICallback: (name, done) => (asked.push(name), done(null)) })
    for (const host of ['a.test', '*.b.test']) expect(await servedCertificate(host, port)).toMatchObject({ error: null })
    expect(asked).toEqual(['a.test', 'evenkeel-looks.b.test'])
  })

  it('an alert -> there is no certificate yet', async () => {
    const port = await listening(createPlainServer((socket) => socket.once('data', () => socket.end(internalError))))
    expect(await servedCertificate('a.test', port)).toEqual({
      issuer: null,
      notAfter: null,
      error: 'there is no certificate yet',
    })
  })

  it('nobody listens, or what listens hangs up or speaks no TLS -> why, and no failure', async () => {
    const port = await secure()
    servers.splice(0).forEach((s) => s.close())
    const hangsUp = await listening(createPlainServer((socket) => socket.destroy()))
    const speaksHttp = await listening(createPlainServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')))
    for (const each of [port, hangsUp, speaksHttp]) {
      const seen = await servedCertificate('a.test', each)
      expect(seen).toMatchObject({ issuer: null, notAfter: null })
      expect(seen.error).toMatch(/\w/)
    }
  })

  it('no answer -> told after two seconds', async () => {
    const silent = await listening(createPlainServer(() => undefined))
    // Timers of one process end in their order, however late.
    const seen = await Promise.race([servedCertificate('a.test', silent), sleep(4_000).then(() => 'too late')])
    expect(seen).toMatchObject({ error: 'no answer within 2 s' })
  }, 30_000)
})
