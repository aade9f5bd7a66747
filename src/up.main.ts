import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Progress } from './embedded/progress.js'
import { reasonOf } from './embedded/reason.js'
import { up } from './embedded/up.js'
import { readSettings } from './settings.js'
import { onShutdown } from './shutdown.js'

/** The all-in-one: what `npm run up` runs. */
const { values } = parseArgs({
  options: {
    /** Return when ready, and leave the supervisor running in the background. */
    detach: { type: 'boolean', default: false },
    adopt: { type: 'string' },
  },
})

/** What the supervisor in the background tells the process that a person watches. */
type Message = { line: string } | { ready: true } | { failed: string }

try {
  await (values.detach ? detach() : supervise())
} catch (error) {
  console.error(reasonOf(error))
  tell({ failed: reasonOf(error) })
  // What an interrupted start still had under way is not waited for.
  process.exit(1)
}

async function supervise(): Promise<void> {
  const interrupt = new AbortController()
  onShutdown(() => interrupt.abort(new Error('Interrupted.')))
  const options = { signal: interrupt.signal, ...(values.adopt === undefined ? {} : { adopt: values.adopt }) }
  const stop = await up(readSettings(), options, new Progress(say))
  tell({ ready: true })
  if (!interrupt.signal.aborted) await once(interrupt.signal, 'abort')
  say('Stopping the control plane; containers go on running.')
  await stop()
  process.exit(0)
}

/** Starts this same program without a terminal, shows what it says, and leaves when it is ready. */
async function detach(): Promise<void> {
  const runDir = join(readSettings().home, 'run')
  mkdirSync(runDir, { recursive: true, mode: 0o700 })
  const log = openSync(join(runDir, 'supervisor.log'), 'a', 0o600)
  const args = process.argv.slice(2).filter((arg) => arg !== '--detach')
  const child = spawn(process.execPath, [...process.execArgv, process.argv[1] ?? '', ...args], {
    detached: true,
    stdio: ['ignore', log, log, 'ipc'],
  })
  closeSync(log)
  await new Promise<void>((resolve, reject) => {
    child.once('exit', (code) =>
      reject(new Error(`the supervisor ended (exit code ${code}); its log: ${join(runDir, 'supervisor.log')}`)),
    )
    child.on('message', (message: Message) => {
      if ('line' in message) console.log(message.line)
      else if ('failed' in message) reject(new Error(message.failed))
      else resolve()
    })
  })
  child.disconnect()
  child.unref()
}

function say(line: string): void {
  console.log(line)
  tell({ line })
}

function tell(message: Message): void {
  if (process.connected) process.send?.(message)
}
