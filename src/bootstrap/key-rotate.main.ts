import { parseArgs } from 'node:util'
import { withInstanceDatabase } from '../backup/database-at.js'
import { homeAt } from '../embedded/home.js'
import { Progress } from '../embedded/progress.js'
import { reasonOf } from '../embedded/reason.js'
import { HomeLock } from '../embedded/home-lock.js'
import { openDatabase } from '../persistence/database.js'
import { homePaths, readSettings } from '../settings.js'
import { handOut, recipientOf } from './hand-out.js'
import { rotateKey } from './rotate-key.js'

/** What `npm run key:rotate` runs. Works while Evenkeel runs and while it is stopped. */
const { values } = parseArgs({
  options: {
    /** `<folder>:<user id>`: an API that has a copy of the key of its own, as in the composition. */
    api: { type: 'string' },
  },
})

const progress = new Progress((line) => console.log(line))
try {
  const settings = readSettings()
  const home = homeAt(settings.home)
  const file = homePaths(settings.home).masterKey
  const recipient = values.api === undefined ? null : recipientOf(values.api)
  const { keyId, resealed, resumed } = await progress.step('Master key', (log) =>
    withInstanceDatabase({ home, settings, lock: new HomeLock(home), log }, async (url) => {
      const db = openDatabase(url, 3)
      try {
        const onFile = () => recipient && handOut(settings.home, 'api', recipient)
        return await rotateKey({ db, file, now: new Date(), onFile, onBatch: (count) => log(`${count} values sealed again`) })
      } finally {
        await db.$disconnect()
      }
    }),
  )
  console.log(`
${resumed ? 'The rotation that was begun earlier has come to its end.' : 'There is a new master key.'} ${resealed} values were sealed again with key ${keyId}; the old key is gone from ${file}.
Back up the file now, apart from the database. Backups that were made before this need the key file of their time: keep it with them.`)
} catch (error) {
  console.error(reasonOf(error))
  process.exitCode = 1
}
