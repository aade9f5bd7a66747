import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto'

/**
 * Why Caddy could not use a secret as certificate; null = it can. Asked before the secret gets its file: Caddy refuses
 * a whole configuration for one such file, and does not say which.
 */
export function ownCertificateProblem(pem: string): string | null {
  const leaf = leafOf(pem)
  if (typeof leaf === 'string') return leaf
  const key = keyOf(pem)
  if (typeof key === 'string') return key
  if (!leaf.checkPrivateKey(key))
    return 'has a key that is not the one of its first certificate: the chain begins with the certificate of the host itself'
  return leaf.subjectAltName === undefined && !/^CN=./m.test(leaf.subject ?? '') ? 'has a certificate without any name' : null
}

/** The first one is the host's own; what follows leads to its authority. */
function leafOf(pem: string): X509Certificate | string {
  const block = blocks(pem).find(({ type }) => type === 'CERTIFICATE')
  if (!block) return 'holds no certificate: it takes PEM, the chain and its key one below the other'
  try {
    return new X509Certificate(block.text)
  } catch {
    return 'has a first certificate that cannot be read'
  }
}

function keyOf(pem: string): KeyObject | string {
  const block = blocks(pem).find(({ type }) => type.endsWith('PRIVATE KEY'))
  if (!block) return 'holds no private key: it takes PEM, the chain and its key one below the other'
  if (block.type.startsWith('ENCRYPTED') || block.text.includes('Proc-Type:'))
    return 'has an encrypted private key: there is nobody to ask for its password'
  try {
    const key = createPrivateKey(block.text)
    return usable(key)
      ? key
      : `has a key of the kind ${key.asymmetricKeyType}, which no browser takes: use RSA of 2048 bits or more, ECDSA on P-256, P-384 or P-521`
  } catch {
    return 'has a private key that cannot be read'
  }
}

function usable(key: KeyObject): boolean {
  const { modulusLength = 0, namedCurve = '' } = key.asymmetricKeyDetails ?? {}
  if (key.asymmetricKeyType === 'rsa') return modulusLength >= 2048
  if (key.asymmetricKeyType === 'ec') return ['prime256v1', 'secp384r1', 'secp521r1'].includes(namedCurve)
  return key.asymmetricKeyType === 'ed25519'
}

function blocks(pem: string): { type: string; text: string }[] {
  const found = pem.matchAll(/^-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?^-----END \1-----[^\S\n]*$/gm)
  return [...found].map(([text, type = '']) => ({ type, text }))
}
