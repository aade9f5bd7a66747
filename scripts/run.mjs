#!/usr/bin/env node
import { existsSync } from 'node:fs'
import { build, generate } from './build.mjs'
import { runToEnd } from './command.mjs'
import { checkArtefacts, ensurePackages, NODE_24, packageProgram, pathWithNode24 } from './packages.mjs'
import { inRoot, SetupError } from './root.mjs'

// Entry of every npm script. Plain JavaScript for any Node from 20 on, with nothing installed: it brings the checkout
// to where the wanted program can run (packages, generated client, compiled sources) and runs it on Node 24.

const SILENT = () => {}
const aloud = (line) => console.error(`evenkeel: ${line}`)

/** What runs for each verb, and whether it needs the compiled sources. */
const PROGRAMS = {
  up: { file: 'dist/src/up.main.js', compiled: true },
  down: { file: 'dist/src/down.main.js', compiled: true },
  bench: { file: 'dist/bench/main.js', compiled: true },
  backup: { file: 'dist/src/backup/backup.main.js', compiled: true },
  restore: { file: 'dist/src/backup/restore.main.js', compiled: true },
  'key:rotate': { file: 'dist/src/bootstrap/key-rotate.main.js', compiled: true },
  'secret:set': { file: 'dist/src/bootstrap/secret-set.main.js', compiled: true },
  migrate: { file: 'dist/src/embedded/migrate.main.js', compiled: true },
  'migration:new': { file: 'dist/src/embedded/migration-new.main.js', compiled: true },
  schema: { file: 'dist/src/api/print-schema.main.js', compiled: true },
  test: { file: 'scripts/test.mjs' },
  'test:hunt': { file: 'scripts/test.mjs', env: { EVENKEEL_HUNT: '1' } },
  'test:simulation': { file: 'test/simulation/run.mjs' },
  'compose:check': { file: 'scripts/compose-check.mjs' },
  typecheck: { file: packageProgram('typescript', 'bin', 'tsc'), args: ['--noEmit', '--incremental', 'false', '-p', 'tsconfig.json'] },
  lint: { file: packageProgram('oxlint', 'bin', 'oxlint') },
  format: { file: packageProgram('prettier', 'bin', 'prettier.cjs') },
}

/** Verbs that are nothing but a part of the preparation. */
const PREPARATIONS = { packages: SILENT, generate, build }

async function main([verb, ...args]) {
  const program = PROGRAMS[verb]
  const preparation = PREPARATIONS[verb]
  if (!program && !preparation) {
    throw new SetupError(
      `Usage: node scripts/run.mjs VERB [arguments]; verbs: ${[...Object.keys(PROGRAMS), ...Object.keys(PREPARATIONS)].join(', ')}`,
    )
  }
  await ensurePackages(aloud)
  checkArtefacts()
  if (preparation) return (await preparation(aloud), 0)

  await (program.compiled ? build(aloud) : generate(aloud))
  const file = program.file.startsWith('/') ? program.file : inRoot(program.file)
  if (!existsSync(file)) throw new SetupError(`${file} is missing`)
  return runToEnd(NODE_24, ['--enable-source-maps', file, ...(program.args ?? []), ...args], {
    ...program.env,
    PATH: pathWithNode24(),
    // Compiled code is kept, also for the processes that the program starts: each start is some tenths of a second faster.
    NODE_COMPILE_CACHE: inRoot('dist', '.compile-cache'),
  })
}

main(process.argv.slice(2)).then(
  (code) => (process.exitCode = code),
  (error) => {
    console.error(error instanceof SetupError ? error.message : error)
    process.exitCode = 1
  },
)
