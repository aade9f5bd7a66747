import { templateFields, type ReleaseTemplate } from '../../reconcile/application/spec.js'
import { canonicalJson } from '../../reconcile/hash.js'
import type { ReleaseDifference } from './application.payload.js'

/** What a release froze and what it was resolved to. */
export interface ComparedRelease {
  template: ReleaseTemplate
  resolvedImage: string
}

interface EntryKey {
  /** What tells the entries apart. */
  key: string
  /** The one other field, where there is only one: the difference is then named by the entry alone. */
  value?: string
}

/** Other lists are compared as a whole, because their order means something. */
const entryKeys: Partial<Record<string, EntryKey>> = {
  env: { key: 'name', value: 'value' },
  secretEnv: { key: 'name' },
  labels: { key: 'key', value: 'value' },
  files: { key: 'path' },
  volumes: { key: 'name' },
  bindMounts: { key: 'path' },
  tmpfs: { key: 'path' },
  devices: { key: 'source' },
}

const hiddenContent = (content: string) => `${Buffer.byteLength(content)} bytes, shown to tokens with the ability write`

/** Field by field, in the order of the template's fields. Secrets are names and versions there, so no value can appear. */
export function releaseDifferences(from: ComparedRelease, to: ComparedRelease, showContents: boolean): ReleaseDifference[] {
  const differences = templateFields.flatMap((field) => differencesOf([field], from.template[field], to.template[field]))
  const resolved = differencesOf(['resolvedImage'], from.resolvedImage, to.resolvedImage)
  const all = [...differences, ...resolved].toSorted((a, b) => Number(isImage(b)) - Number(isImage(a)))
  return showContents ? all : all.map(withoutContents)
}

function isImage({ field: [first] }: ReleaseDifference): boolean {
  return first === 'image' || first === 'resolvedImage'
}

function differencesOf(field: string[], before: unknown, after: unknown): ReleaseDifference[] {
  if (canonicalJson(before ?? null) === canonicalJson(after ?? null)) return []
  const key = field.length === 1 ? entryKeys[field[0] ?? ''] : undefined
  if (key !== undefined) return entryDifferences(field, byKey(before, key), byKey(after, key))
  if (isObject(before ?? after) && (before === undefined || after === undefined || (isObject(before) && isObject(after))))
    return entryDifferences(field, toMap(before), toMap(after))
  return [{ field, before: asText(before), after: asText(after) }]
}

function entryDifferences(field: string[], before: Map<string, unknown>, after: Map<string, unknown>): ReleaseDifference[] {
  const names = [...new Set([...before.keys(), ...after.keys()])]
  return names.flatMap((name) => differencesOf([...field, name], before.get(name), after.get(name)))
}

function byKey(list: unknown, { key, value }: EntryKey): Map<string, unknown> {
  return new Map(
    ((list ?? []) as Record<string, unknown>[]).map((entry) => {
      const { [key]: name, ...rest } = entry
      return [String(name), value === undefined ? rest : rest[value]]
    }),
  )
}

function toMap(value: unknown): Map<string, unknown> {
  return new Map(isObject(value) ? Object.entries(value) : [])
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

function asText(value: unknown): string | null {
  if (value === undefined || value === null) return null
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function withoutContents(difference: ReleaseDifference): ReleaseDifference {
  const { field, before, after } = difference
  if (field[0] !== 'files' || field[2] !== 'content') return difference
  return { field, before: before === null ? null : hiddenContent(before), after: after === null ? null : hiddenContent(after) }
}
