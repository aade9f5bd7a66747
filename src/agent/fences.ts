import { appendFileSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { writeFileAtomically } from './state-file.js'

interface Fence {
  resource: string
  key: string
  pass: number
  /** Latest notAfter of any action that was admitted under this key, by the control plane's clock. */
  until: number
}

/**
 * A fence has done its work when no older action can still be valid: an older action of the same key was signed
 * earlier, so its notAfter is not later than the newest one's, but for a change of time-out between the two.
 * That fences end matters: a control plane restored from a backup counts its passes from an older number on.
 */
const slackMs = 60_000
const compactAfterLines = 1_000

/**
 * The highest pass that was admitted for each (resource, action key), kept on disk: after a restart of the agent a late
 * attempt of an older pass is still refused. Appending a line survives kill -9, a torn last line is ignored.
 */
export class FenceJournal {
  private fences = new Map<string, Fence>()
  private lines = 0

  private constructor(private readonly path: string) {}

  static open(path: string, now: number): FenceJournal {
    mkdirSync(dirname(path), { recursive: true })
    const journal = new FenceJournal(path)
    for (const fence of readFences(path)) journal.raise(fence)
    journal.compact(now)
    return journal
  }

  /** False when a newer pass was admitted before. The same pass may come again: activities run at least once. */
  admit(fence: Fence, now: number): boolean {
    const known = this.fences.get(id(fence))
    const current = known && known.until + slackMs > now ? known : undefined
    if (current && fence.pass < current.pass) return false
    const raised = { ...fence, until: Math.max(fence.until, current?.until ?? 0) }
    this.raise(raised)
    appendFileSync(this.path, `${JSON.stringify(raised)}\n`)
    if (++this.lines > compactAfterLines) this.compact(now)
    return true
  }

  private raise(fence: Fence): void {
    this.fences.set(id(fence), fence)
  }

  private compact(now: number): void {
    const alive = [...this.fences.values()].filter((f) => f.until + slackMs > now)
    this.fences = new Map(alive.map((f) => [id(f), f]))
    writeFileAtomically(this.path, alive.map((f) => `${JSON.stringify(f)}\n`).join(''))
    this.lines = 0
  }
}

function id({ resource, key }: Fence): string {
  return `${resource}\0${key}`
}

function readFences(path: string): Fence[] {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    return []
  }
  return text.split('\n').flatMap((line) => {
    try {
      return line === '' ? [] : [JSON.parse(line) as Fence]
    } catch {
      return []
    }
  })
}
