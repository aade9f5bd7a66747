import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { z } from 'zod'

/**
 * Secrets at rest: AES-256-GCM under a master key that lies in a file apart from the database. A sealed value is
 * nonce (12 bytes), tag (16 bytes), ciphertext; the id of its key is kept beside it, so that keys can be rotated.
 */
const keyringSchema = z.object({
  /** Id of the key that seals. */
  current: z.string().min(1),
  keys: z.record(z.string(), z.string()),
})

const nonceBytes = 12
const tagBytes = 16
const keyBytes = 32

export interface Sealed {
  keyId: string
  sealed: Buffer
}

export class Keyring {
  private constructor(
    readonly currentKeyId: string,
    private readonly keys: ReadonlyMap<string, Buffer>,
  ) {}

  /** The text of a new key file with one random key. */
  static generate(): string {
    return textOf(...newKey(), new Map())
  }

  /** Fails with a sentence that holds no part of the text. */
  static parse(text: string): Keyring {
    const parsed = keyringSchema.safeParse(jsonOf(text))
    if (!parsed.success) throw new Error('it is not a key file of Evenkeel')
    const keys = new Map(Object.entries(parsed.data.keys).map(([id, key]) => [id, Buffer.from(key, 'base64url')]))
    for (const [id, key] of keys) {
      if (key.length !== keyBytes) throw new Error(`its key ${id} has ${key.length} bytes instead of ${keyBytes}`)
    }
    if (!keys.has(parsed.data.current)) throw new Error(`it lacks its own current key ${parsed.data.current}`)
    return new Keyring(parsed.data.current, keys)
  }

  has(keyId: string): boolean {
    return this.keys.has(keyId)
  }

  /** Keys that still open what they sealed, and seal nothing any more: more than none while a rotation is under way. */
  get oldKeyIds(): string[] {
    return [...this.keys.keys()].filter((id) => id !== this.currentKeyId)
  }

  /** The text of a key file with a new key that seals from now on, beside all that are there. */
  rotated(): string {
    return textOf(...newKey(), this.keys)
  }

  /** The text of a key file with nothing but the key that seals. */
  withoutOldKeys(): string {
    return textOf(this.currentKeyId, this.key(this.currentKeyId), new Map())
  }

  /** `place` is bound into the tag: a sealed value that is moved to another place does not open there. */
  seal(plain: Buffer, place: string): Sealed {
    const nonce = randomBytes(nonceBytes)
    const cipher = createCipheriv('aes-256-gcm', this.key(this.currentKeyId), nonce).setAAD(Buffer.from(place))
    const ciphertext = Buffer.concat([cipher.update(plain), cipher.final()])
    return { keyId: this.currentKeyId, sealed: Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]) }
  }

  open({ keyId, sealed }: Sealed, place: string): Buffer {
    const nonce = sealed.subarray(0, nonceBytes)
    const tag = sealed.subarray(nonceBytes, nonceBytes + tagBytes)
    const decipher = createDecipheriv('aes-256-gcm', this.key(keyId), nonce, { authTagLength: tagBytes })
    decipher.setAAD(Buffer.from(place)).setAuthTag(tag)
    try {
      return Buffer.concat([decipher.update(sealed.subarray(nonceBytes + tagBytes)), decipher.final()])
    } catch {
      throw new Error(
        `what was sealed with key ${keyId} does not open with the key of that name: it is another key, or the text was altered`,
      )
    }
  }

  private key(keyId: string): Buffer {
    const key = this.keys.get(keyId)
    if (!key) throw new Error(`the key file has no key ${keyId}`)
    return key
  }
}

function newKey(): [id: string, key: Buffer] {
  return [`k${randomBytes(6).toString('hex')}`, randomBytes(keyBytes)]
}

function textOf(current: string, key: Buffer, others: ReadonlyMap<string, Buffer>): string {
  const keys = Object.fromEntries([...others, [current, key] as const].map(([id, k]) => [id, k.toString('base64url')]))
  return `${JSON.stringify({ current, keys }, null, 2)}\n`
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
