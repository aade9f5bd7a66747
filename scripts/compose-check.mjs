import { runQuietly } from './command.mjs'
import { inRoot } from './root.mjs'

// Is docker-compose.yml right? Compose itself is asked: the plugin of the Docker client, or the program of the same
// name; where neither is, root on Debian or Ubuntu gets the program.

const FILE = inRoot('docker-compose.yml')
/** What the file leaves to whoever starts it. Only its form is checked here. */
const PLACEHOLDERS = { EVENKEEL_POSTGRES_PASSWORD: 'placeholder' }

const compose = (await findCompose()) ?? (await installCompose())
if (!compose) {
  console.error('Docker Compose is not installed: install its plugin, or the program docker-compose.')
  process.exit(1)
}
const { code, output } = await runQuietly(compose[0], [...compose.slice(1), '-f', FILE, 'config', '--quiet'], PLACEHOLDERS)
if (code !== 0) console.error(output.trim())
process.exitCode = code

async function findCompose() {
  for (const candidate of [['docker', 'compose'], ['docker-compose']]) {
    const [file, ...args] = candidate
    const answer = await runQuietly(file, [...args, 'version']).catch(() => ({ code: 1 }))
    if (answer.code === 0) return candidate
  }
  return undefined
}

async function installCompose() {
  if (process.getuid?.() !== 0) return undefined
  const apt = (...args) => runQuietly('apt-get', args, { DEBIAN_FRONTEND: 'noninteractive' }).catch(() => ({ code: 1 }))
  await apt('update', '-q')
  await apt('install', '-y', '-q', '--no-install-recommends', 'docker-compose')
  return findCompose()
}
