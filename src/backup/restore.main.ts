import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { Progress } from '../embedded/progress.js'
import { reasonOf } from '../embedded/reason.js'
import { homePaths, readSettings } from '../settings.js'
import { restoreBackup } from './restore.js'

/** What `npm run restore` runs. */
const { values } = parseArgs({
  options: {
    /** The backup's folder. */
    from: { type: 'string' },
    /** The master key's file, when it is not beside the backup. */
    key: { type: 'string' },
    /** Sets aside what the state directory holds. */
    force: { type: 'boolean', default: false },
  },
})

const here = (path: string): string => resolve(process.env['INIT_CWD'] ?? '.', path)
const progress = new Progress((line) => console.log(line))
try {
  if (values.from === undefined) throw new Error('Usage: npm run restore -- --from BACKUP [--key FILE] [--force]')
  const settings = readSettings()
  const { from, key, force } = values
  const { manifest, paused, setAside, keyMissing } = await progress.step('Restore', (log) =>
    restoreBackup({ settings, from: here(from), keyFile: key === undefined ? undefined : here(key), force, now: new Date(), log }),
  )
  const notes = [
    `Instance ${manifest.instance} is as it was at ${manifest.madeAt}. No container was touched.`,
    setAside && `What the state directory held lies in ${setAside}.`,
    keyMissing && `The master key is missing: put it to ${homePaths(settings.home).masterKey} (0600) before \`npm run up\`.`,
    `All ${paused} resources are paused. \`npm run up\`, look at their plans (applicationPlan, orphans), then resume`,
    'each (resourceResume) or all of them (restoreConfirm). docs/operations.md shows how.',
  ]
  console.log(`\n${notes.filter((note) => note).join('\n')}`)
} catch (error) {
  console.error(reasonOf(error))
  process.exitCode = 1
}
