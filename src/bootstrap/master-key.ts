import { KeyFile } from '../adapters/crypto/key-file.js'
import { Keyring } from '../adapters/crypto/keyring.js'
import type { InstallationRepository } from '../persistence/installation.repository.js'
import { readStateFile } from './state-file.js'

/** What a KeyCheck row seals, and the place that it is bound to. */
export const keyCheckText = 'evenkeel key check'
export const keyCheckPlace = 'KeyCheck'

/**
 * The key file, proved to be the one that this database's secrets are sealed with; null when there is none and nothing
 * is sealed yet. Anything else refuses: a new key made here would make every secret unreadable for ever.
 */
export async function verifyKeyring(installation: InstallationRepository, file: string): Promise<Keyring | null> {
  const checks = await installation.keyChecks()
  const needed = [...new Set([...checks.map((c) => c.keyId), ...(await installation.secretKeyIds())])]
  const text = readStateFile(file, 'the master key')
  if (text === null) {
    if (needed.length === 0) return null
    throw new Error(
      `the master key ${file} is missing, and this database holds what was sealed with it (key ${needed.join(', ')}). ${cure}`,
    )
  }
  const keyring = parse(text, file)
  const lacking = needed.filter((id) => !keyring.has(id))
  if (lacking.length > 0)
    throw new Error(
      `the master key ${file} is of another installation: it lacks key ${lacking.join(', ')}, which this database's secrets are sealed with. ${cure}`,
    )
  for (const { keyId, sealed } of checks) {
    const opened = openOrNull(keyring, keyId, sealed)
    if (opened !== keyCheckText)
      throw new Error(
        `the master key ${file} is wrong: its key ${keyId} does not open what this database sealed with it. ${cure}`,
      )
  }
  return keyring
}

/** The key file for a process that runs on through rotations. */
export function keyFileAt(path: string): KeyFile {
  return new KeyFile(path, () => readStateFile(path, 'the master key'))
}

const cure =
  'Put the key file back from the backup of the key. Evenkeel makes no new key while something is sealed with an old one.'

function parse(text: string, file: string): Keyring {
  try {
    return Keyring.parse(text)
  } catch (error) {
    throw new Error(`the master key ${file} is damaged: ${(error as Error).message}. ${cure}`)
  }
}

function openOrNull(keyring: Keyring, keyId: string, sealed: Uint8Array): string | null {
  try {
    return keyring.open({ keyId, sealed: Buffer.from(sealed) }, keyCheckPlace).toString()
  } catch {
    return null
  }
}
