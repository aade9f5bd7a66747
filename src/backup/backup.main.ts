import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { Progress } from '../embedded/progress.js'
import { reasonOf } from '../embedded/reason.js'
import { readSettings } from '../settings.js'
import { makeBackup } from './backup.js'

/** What `npm run backup` runs. */
const { values } = parseArgs({
  options: {
    /** The folder that the backup's own folder is made in. */
    to: { type: 'string' },
    /** Leaves the master key out: then it has to be kept by other means. */
    'without-key': { type: 'boolean', default: false },
  },
})

const progress = new Progress((line) => console.log(line))
try {
  const settings = readSettings()
  // Beside the state directory, not in it: it is to outlive its loss.
  const to = resolve(process.env['INIT_CWD'] ?? '.', values.to ?? `${settings.home}-backups`)
  const { folder, keyFile, manifest } = await progress.step('Backup', (log) =>
    makeBackup({ settings, to, withKey: !values['without-key'], now: new Date(), log }),
  )
  const rows = manifest.tables.reduce((sum, t) => sum + t.rows, 0)
  console.log(`
Instance ${manifest.instance}: ${manifest.tables.length} tables, ${rows} rows, ${manifest.state.length} files.

  Backup      ${folder}
  Master key  ${keyFile ?? 'left out: without it no secret of this backup can ever be read'}

${keyFile ? 'Move the master key to another place than the backup: whoever has both has every secret.\n' : ''}The backup itself holds the owner's token and the signing key: keep it as you keep passwords.
\`npm run restore -- --from ${folder}\` restores it.`)
} catch (error) {
  console.error(reasonOf(error))
  process.exitCode = 1
}
