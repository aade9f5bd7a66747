import type { Database, Transaction } from './database.js'
import { credentialPlace, secretPlace, type PlacedValue, type SealedValue } from './sealed.js'
import { auditPlain, refuse, transact, type WriteContext } from './write.js'

/** Opens what an older key sealed and seals it with the current one, at the same place. */
export type Reseal = (value: PlacedValue) => SealedValue

/** Rows of one transaction: a rotation that is killed loses no more than that. */
const batchRows = 50

/** The rows that a rotation of the master key rewrites. Each names its key, so it can be killed and taken up anywhere. */
export class RotationRepository {
  constructor(private readonly db: Database) {}

  /** Rewrites rows that another key sealed, some at a time; answers how many, 0 when there are none left. */
  resealSome(currentKeyId: string, reseal: Reseal): Promise<number> {
    return transact<number>(this.db, async (tx) => {
      const done = await resealSecrets(tx, currentKeyId, reseal)
      return done > 0 ? done : resealCredentials(tx, currentKeyId, reseal)
    })
  }

  /** False when something was sealed with another key meanwhile: the rotation is not done then, and nothing is dropped. */
  dropOtherKeys(currentKeyId: string, context: WriteContext): Promise<boolean> {
    return transact<boolean>(this.db, async (tx) => {
      // Waits for those that seal under one of these keys (sealUnderKnownKey), so that the count below sees their rows.
      const dropped = await tx.keyCheck.findMany({ where: { keyId: { not: currentKeyId } }, select: { keyId: true } })
      await tx.keyCheck.deleteMany({ where: { keyId: { not: currentKeyId } } })
      const where = { keyId: { not: currentKeyId } }
      const left = (await tx.secretVersion.count({ where })) + (await tx.registryCredential.count({ where }))
      if (left > 0) refuse(false)
      if (dropped.length > 0)
        await auditPlain(tx, context, 'master-key', { keys: dropped.map((d) => d.keyId) }, { keys: [currentKeyId] })
      return true
    })
  }
}

async function resealSecrets(tx: Transaction, currentKeyId: string, reseal: Reseal): Promise<number> {
  const rows = await tx.$queryRaw<({ secretId: string; version: number } & SealedValue)[]>`
    SELECT "secretId", version, "keyId", sealed FROM "SecretVersion" WHERE "keyId" <> ${currentKeyId}
    ORDER BY "secretId", version LIMIT ${batchRows} FOR NO KEY UPDATE`
  for (const { secretId, version, keyId, sealed } of rows) {
    const fresh = reseal({ keyId, sealed, place: secretPlace(secretId, version) })
    const where = { secretId_version: { secretId, version } }
    await tx.secretVersion.update({ where, data: dataOf(fresh), select: { version: true } })
  }
  return rows.length
}

async function resealCredentials(tx: Transaction, currentKeyId: string, reseal: Reseal): Promise<number> {
  const rows = await tx.$queryRaw<({ id: string } & SealedValue)[]>`
    SELECT id, "keyId", sealed FROM "RegistryCredential" WHERE "keyId" <> ${currentKeyId}
    ORDER BY id LIMIT ${batchRows} FOR NO KEY UPDATE`
  for (const { id, keyId, sealed } of rows) {
    const fresh = reseal({ keyId, sealed, place: credentialPlace(id) })
    await tx.registryCredential.update({ where: { id }, data: dataOf(fresh), select: { id: true } })
  }
  return rows.length
}

function dataOf({ keyId, sealed }: SealedValue) {
  return { keyId, sealed: Uint8Array.from(sealed) }
}
