import { runQuietly } from './command.mjs'

/**
 * How Docker Compose is called here: the plugin of the Docker client, or the program of the same name. Where neither is,
 * root on Debian or Ubuntu gets the program; elsewhere the error says what is missing.
 */
export async function findCompose() {
  const found = (await search()) ?? (await install())
  if (!found) throw new Error('Docker Compose is not installed: install its plugin, or the program docker-compose.')
  return found
}

async function search() {
  for (const candidate of [['docker', 'compose'], ['docker-compose']]) {
    const [file, ...args] = candidate
    const answer = await runQuietly(file, [...args, 'version']).catch(() => ({ code: 1 }))
    if (answer.code === 0) return candidate
  }
  return undefined
}

async function install() {
  if (process.getuid?.() !== 0) return undefined
  const apt = (...args) => runQuietly('apt-get', args, { DEBIAN_FRONTEND: 'noninteractive' }).catch(() => ({ code: 1 }))
  await apt('update', '-q')
  await apt('install', '-y', '-q', '--no-install-recommends', 'docker-compose')
  return search()
}
