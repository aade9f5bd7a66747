import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

/**
 * Who may import whom (design §4). A rule names a part of the tree and what it may reach; everything else is refused.
 * `types` are parts that may be imported by `import type` only.
 */
const root = resolve(import.meta.dirname, '..')

interface Rule {
  part: string
  may: string[]
  types?: string[]
  /** Packages that it may import; absent = any. Entries ending in : or / are prefixes. */
  packages?: string[]
}

const rules: Rule[] = [
  { part: 'src/reconcile', may: ['src/reconcile'], packages: ['zod', 'node:crypto', 'ipaddr.js'] },
  {
    part: 'workflows',
    may: ['workflows', 'src/reconcile'],
    types: ['activities', 'src/persistence'],
    packages: ['@temporalio/workflow', '@temporalio/common'],
  },
  {
    part: 'activities',
    may: ['activities', 'src/reconcile', 'src/adapters', 'src/persistence', 'src/agent', 'src/log.ts'],
  },
  { part: 'src/adapters', may: ['src/adapters', 'src/reconcile'] },
  { part: 'src/persistence', may: ['src/persistence', 'src/reconcile', 'src/agent/protocol.ts'] },
  {
    part: 'src/api',
    may: ['src/api', 'src/reconcile', 'src/persistence', 'src/temporal', 'src/adapters/crypto', 'src/agent/protocol.ts', 'src/agent/peer-calls.ts', 'src/settings.ts', 'src/log.ts', 'src/shutdown.ts'],
  },
  {
    part: 'src/agent',
    may: ['src/agent', 'src/reconcile', 'src/adapters', 'src/log.ts', 'src/settings.ts', 'src/temporal/runtime.ts', 'src/shutdown.ts'],
  },
  { part: 'src/temporal', may: ['src/temporal', 'src/reconcile', 'workflows', 'src/persistence'], types: ['activities'] },
]

/** Prisma is called by the repositories and nobody else. */
const prismaPart = 'src/persistence'

interface Import {
  file: string
  specifier: string
  typeOnly: boolean
}

const importPattern = /^(?:import|export)\s+(type\s+)?(?:[^'"]*?\sfrom\s+)?['"]([^'"]+)['"]/gm

function sources(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.spec.ts') && !name.includes('/generated/') && !name.includes('/testing/'))
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8')
  return [...text.matchAll(importPattern)].map((m) => ({ file, specifier: m[2] ?? '', typeOnly: m[1] !== undefined }))
}

function target({ file, specifier }: Import): string {
  return relative(root, resolve(root, dirname(file), specifier)).replace(/\.js$/, '.ts')
}

const within = (path: string, part: string) => path === part || path.startsWith(`${part}/`)

function forbidden(rule: Rule, imported: Import): boolean {
  if (!imported.specifier.startsWith('.'))
    return rule.packages !== undefined && !rule.packages.some((p) => imported.specifier === p || imported.specifier.startsWith(`${p}/`))
  const path = target(imported)
  const allowed = [...rule.may, ...(imported.typeOnly ? (rule.types ?? []) : [])]
  return !allowed.some((part) => within(path, part))
}

describe('import rules', () => {
  it.each(rules)('$part -> imports only what it may', (rule) => {
    const files = sources(rule.part)
    expect(files.length).toBeGreaterThan(0)
    const broken = files.flatMap(importsOf).filter((i) => forbidden(rule, i))
    expect(broken.map((i) => `${i.file} imports ${i.specifier}`)).toEqual([])
  })

  it('Prisma -> only the repositories call it', () => {
    const elsewhere = ['src', 'activities', 'workflows']
      .flatMap(sources)
      .filter((file) => !within(file, prismaPart) && !within(file, 'src/embedded'))
      .flatMap(importsOf)
      .filter((i) => i.specifier.startsWith('@prisma/') || i.specifier.includes('/generated/'))
    expect(elsewhere).toEqual([])
  })

  it('file names -> no drawer for odds and ends', () => {
    const drawers = ['src', 'activities', 'workflows'].flatMap(sources).filter((f) => /(^|\/)(utils?|helpers?|common|misc)\.ts$/.test(f))
    expect(drawers).toEqual([])
  })

  it('a forbidden import -> is seen', () => {
    const rule = rules[0] as Rule
    expect(forbidden(rule, { file: 'src/reconcile/loop.ts', specifier: '../persistence/database.js', typeOnly: false })).toBe(true)
    expect(forbidden(rule, { file: 'src/reconcile/loop.ts', specifier: 'dockerode', typeOnly: false })).toBe(true)
    expect(forbidden(rule, { file: 'src/reconcile/loop.ts', specifier: './action.js', typeOnly: false })).toBe(false)
  })
})
