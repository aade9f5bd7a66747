import { chmodSync, chownSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { homePaths } from '../settings.js'
import { readStateFile, writeStateFile } from './state-file.js'

/** A process of its own user, and the folder that it takes for its EVENKEEL_HOME. */
export interface Recipient {
  folder: string
  uid: number
}

/** Who needs what of the state directory: the API proves the master key, the worker signs. Nobody gets the other's. */
const filesOf = { api: ['masterKey'], worker: ['instance', 'signingKey'] } as const

/**
 * Copies to a process the files that it needs and no others, each readable by its user alone. Safe to repeat: after a
 * rotation the copies are brought up to date.
 */
export function handOut(home: string, process: keyof typeof filesOf, { folder, uid }: Recipient): void {
  const from = homePaths(home)
  const to = homePaths(folder)
  own(folder, uid, 0o700)
  for (const name of filesOf[process]) {
    const text = readStateFile(from[name], name)
    if (text === null) throw new Error(`${from[name]} is missing, and the ${process} needs it`)
    if (dirname(to[name]) !== folder) own(dirname(to[name]), uid, 0o700)
    writeStateFile(to[name], text)
    chownSync(to[name], uid, uid)
  }
}

function own(folder: string, uid: number, mode: number): void {
  mkdirSync(folder, { recursive: true, mode })
  chmodSync(folder, mode)
  chownSync(folder, uid, uid)
}

/** `<folder>:<uid>`. */
export function recipientOf(text: string): Recipient {
  const [, folder, uid] = /^(\/.+):(\d+)$/.exec(text) ?? []
  if (!folder || !uid) throw new Error(`${JSON.stringify(text)} is no recipient: it should be <absolute folder>:<user id>`)
  return { folder: join(folder), uid: Number(uid) }
}
