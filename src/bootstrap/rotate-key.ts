import { Keyring } from '../adapters/crypto/keyring.js'
import type { Database } from '../persistence/database.js'
import { InstallationRepository } from '../persistence/installation.repository.js'
import { RotationRepository } from '../persistence/rotation.repository.js'
import { keyCheckPlace, keyCheckText, verifyKeyring } from './master-key.js'
import { readStateFile, writeStateFile } from './state-file.js'

export interface RotateOptions {
  db: Database
  /** The master key's file. */
  file: string
  now: Date
  /** After each change of the file: for processes that read a copy of it. */
  onFile?: () => void
  /** After each transaction that rewrote rows. */
  onBatch?: (resealed: number) => void
}

export interface Rotated {
  keyId: string
  resealed: number
  /** An earlier rotation had not come to its end: this one ended it and made no further key. */
  resumed: boolean
}

/** Enough for some hundred thousand values. */
const longestMs = 30 * 60_000

/**
 * Changes the master key: a new one beside the old in the file, every value sealed again, the old one dropped. It may be
 * killed anywhere: the file always holds every key that some row names, a row names its key, and a file with more than
 * one key says that a rotation is to be ended. Processes that run meanwhile read the file again when they meet the new key.
 */
export function rotateKey({ db, file, now, onFile = () => {}, onBatch = () => {} }: RotateOptions): Promise<Rotated> {
  const installation = new InstallationRepository(db)
  const rows = new RotationRepository(db)
  return installation.alone(async () => {
    const { ring, resumed } = await ringWithNewKey(installation, file)
    onFile()
    const { keyId, sealed } = ring.seal(Buffer.from(keyCheckText), keyCheckPlace)
    await installation.addKeyCheck(keyId, sealed)

    let resealed = 0
    const context = { actor: 'key-rotate', ability: 'admin', operation: 'keyRotate', now }
    do {
      for (let some = -1; some !== 0; ) {
        some = await rows.resealSome(keyId, ({ place, ...old }) => ring.seal(ring.open({ ...old, sealed: Buffer.from(old.sealed) }, place), place))
        resealed += some
        if (some > 0) onBatch(resealed)
      }
    } while (!(await rows.dropOtherKeys(keyId, context)))
    writeStateFile(file, ring.withoutOldKeys())
    onFile()
    return { keyId, resealed, resumed }
  }, longestMs)
}

/** Read back from the disk, so that nothing is sealed with a key that is not there. */
async function ringWithNewKey(installation: InstallationRepository, file: string): Promise<{ ring: Keyring; resumed: boolean }> {
  const present = await verifyKeyring(installation, file)
  if (!present) throw new Error(`there is no master key ${file} yet: start Evenkeel once, and it makes one`)
  const resumed = present.oldKeyIds.length > 0
  if (!resumed) writeStateFile(file, present.rotated())
  const text = readStateFile(file, 'the master key')
  if (text === null) throw new Error(`the master key ${file} vanished while it was rotated`)
  return { ring: Keyring.parse(text), resumed }
}
