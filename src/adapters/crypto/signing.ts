import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify, type KeyObject } from 'node:crypto'
import { z } from 'zod'
import type { SignedAction } from '../../reconcile/loop.js'

/**
 * Every action is signed by the control worker, which alone holds the private key, and verified by the agent against
 * the keys that it pinned when the node joined. So reaching Temporal's port is not root on the nodes.
 */

/** What is signed: enough to tie an action to one node, one pass and one span of time. */
export const signedPayloadSchema = z.object({
  instance: z.string(),
  node: z.string(),
  kind: z.string(),
  resource: z.string(),
  key: z.string(),
  generation: z.number().int(),
  pass: z.number().int(),
  verb: z.string(),
  args: z.unknown(),
  container: z.string().nullable(),
  /** When it was decided, and until when it may begin; milliseconds since the epoch by the control plane's clock. */
  signedAt: z.number().default(0),
  notAfter: z.number(),
})
export type SignedPayload = z.infer<typeof signedPayloadSchema>

export interface SigningKey {
  keyId: string
  privateKey: KeyObject
}

export interface PinnedKey {
  keyId: string
  /** PEM, SPKI. */
  publicKey: string
}

/** A new key pair as PEM texts; `keyId` is the first 16 hex digits of the public key's SHA-256. */
export function generateSigningKey(): { privatePem: string; pinned: PinnedKey } {
  const { privateKey } = generateKeyPairSync('ed25519')
  const privatePem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  return { privatePem, pinned: pinnedKeyOf(privatePem) }
}

/** The public half of a private key, as agents pin it. */
export function pinnedKeyOf(privatePem: string): PinnedKey {
  const publicKey = createPublicKey(createPrivateKey(privatePem)).export({ type: 'spki', format: 'pem' }).toString()
  return { keyId: keyIdOf(publicKey), publicKey }
}

export function signingKeyOf(privatePem: string): SigningKey {
  return { keyId: pinnedKeyOf(privatePem).keyId, privateKey: createPrivateKey(privatePem) }
}

function keyIdOf(publicPem: string): string {
  return createHash('sha256').update(publicPem).digest('hex').slice(0, 16)
}

export function signPayload(payload: SignedPayload, key: SigningKey): SignedAction {
  const text = JSON.stringify(payload)
  return { payload: text, keyId: key.keyId, signature: sign(null, Buffer.from(text), key.privateKey).toString('base64') }
}

/** Why an action was refused by the agent. */
export class ActionRefused extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ActionRefused'
  }
}

/** Parses only what it verified. `now` is the control plane's clock as the agent knows it. */
export function openSigned(
  signed: SignedAction,
  pinned: PinnedKey[],
  expected: { instance: string; node: string; now: number },
): SignedPayload {
  const key = pinned.find((k) => k.keyId === signed.keyId)
  if (!key) throw new ActionRefused(`the action is signed with key ${signed.keyId}, which this node has not pinned`)
  const genuine = verify(
    null,
    Buffer.from(signed.payload),
    createPublicKey(key.publicKey),
    Buffer.from(signed.signature, 'base64'),
  )
  if (!genuine) throw new ActionRefused('the signature does not fit the action: it was altered, or signed by somebody else')
  const payload = signedPayloadSchema.parse(JSON.parse(signed.payload))
  if (payload.instance !== expected.instance) throw new ActionRefused(`the action is for instance ${payload.instance}`)
  if (payload.node !== expected.node) throw new ActionRefused(`the action is for node ${payload.node}`)
  if (payload.notAfter < expected.now)
    throw new ActionRefused(`the action ended ${Math.round((expected.now - payload.notAfter) / 1000)} s ago`)
  return payload
}
