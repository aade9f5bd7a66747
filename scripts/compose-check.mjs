import { runQuietly } from './command.mjs'
import { findCompose } from './compose.mjs'
import { inRoot } from './root.mjs'

// Is docker-compose.yml right? Compose itself is asked. test/compose starts it.

try {
  const [file, ...args] = await findCompose()
  const { code, output } = await runQuietly(file, [...args, '-f', inRoot('docker-compose.yml'), 'config', '--quiet'])
  if (code !== 0) console.error(output.trim())
  process.exitCode = code
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
}
