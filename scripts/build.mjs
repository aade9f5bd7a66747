import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runQuietly } from './command.mjs'
import { NODE_24, packageProgram } from './packages.mjs'
import { inRoot, ROOT, SetupError } from './root.mjs'

const SCHEMA = 'prisma/schema.prisma'
const GENERATED = 'src/persistence/generated'
/** What the compiled files depend on, besides the versions of the packages. */
const SOURCES = ['src', 'activities', 'workflows', 'bench']
const SETTINGS = ['tsconfig.json', 'tsconfig.build.json', 'package-lock.json', SCHEMA]
/** Hashes of what the outputs were made from. */
const GENERATED_FROM = inRoot(GENERATED, '.made-from')
const BUILT_FROM = inRoot('dist', '.made-from')

/** Generates the database client when the schema or Prisma has changed. */
export async function generate(say) {
  const from = hashOf([SCHEMA, 'package-lock.json'])
  if (readOr(GENERATED_FROM) === from) return
  say('generating the database client')
  const prisma = packageProgram('prisma', 'build', 'index.js')
  // The generator needs no native engine, but the tool would download one: it is told that it has it.
  const env = { PRISMA_SCHEMA_ENGINE_BINARY: NODE_24, CHECKPOINT_DISABLE: '1' }
  await step('prisma generate', [prisma, 'generate'], env)
  writeFileSync(GENERATED_FROM, from)
}

/** Compiles the sources into dist, and bundles the workflows; does nothing when nothing has changed. */
export async function build(say) {
  await generate(say)
  const files = SOURCES.flatMap(filesBelow)
  const from = hashOf([...SETTINGS, ...files])
  if (readOr(BUILT_FROM) === from) return
  say('compiling')
  forgetDeleted(files)
  await step('tsc', [packageProgram('typescript', 'bin', 'tsc'), '-p', 'tsconfig.build.json'])
  await step('the bundle of the workflows', [inRoot('dist', 'src', 'temporal', 'bundle.main.js')])
  writeFileSync(BUILT_FROM, from)
}

/** tsc leaves the output of a deleted source behind, where it could still be imported. */
function forgetDeleted(files) {
  const list = inRoot('dist', '.sources')
  for (const source of readOr(list)?.split('\n') ?? []) {
    if (existsSync(inRoot(source))) continue
    const output = inRoot('dist', source.replace(/\.ts$/, '.js'))
    for (const file of [output, `${output}.map`]) rmSync(file, { force: true })
    // Else tsc, which remembers what it has written, would believe that it is there if the source came back.
    rmSync(inRoot('dist', '.tsbuildinfo'), { force: true })
  }
  mkdirSync(inRoot('dist'), { recursive: true })
  writeFileSync(list, files.join('\n'))
}

async function step(name, args, env = {}) {
  const { code, output } = await runQuietly(NODE_24, args, env)
  if (code !== 0) throw new SetupError(`${name} failed (exit code ${code}):\n${output.trim()}`)
}

/** One hash over names and contents: times say nothing after a clone or a checkout. */
function hashOf(files) {
  const hash = createHash('sha256')
  for (const file of [...files].sort())
    hash
      .update(`${file}\0`)
      .update(readFileSync(inRoot(file)))
      .update('\0')
  return hash.digest('hex')
}

function filesBelow(folder) {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.spec.ts'))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(ROOT.length + 1))
}

function readOr(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
