import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import Docker from 'dockerode'
import { homeAt, instanceOf, type Home } from './embedded/home.js'
import { removeOwned } from './embedded/owned-things.js'
import { endLeftoverPostgres } from './embedded/postgres.js'
import { PidFile } from './embedded/processes.js'
import { Progress } from './embedded/progress.js'
import { reasonOf } from './embedded/reason.js'
import { HomeLock } from './embedded/home-lock.js'
import { readSettings } from './settings.js'

/** What `npm run down` runs: stops the control plane and removes what an instance owns on this engine. */
const { values } = parseArgs({
  options: {
    /** Also the volumes and the state directory: all data. */
    volumes: { type: 'boolean', default: false },
    /** Another instance than that of EVENKEEL_HOME. */
    instance: { type: 'string' },
  },
})
/** Longer than the parts of the control plane take to end one after the other. */
const STOP_GRACE_MS = 90_000

const progress = new Progress((line) => console.log(line))

try {
  await down(homeAt(readSettings().home))
} catch (error) {
  console.error(reasonOf(error))
  process.exitCode = 1
}

async function down(home: Home): Promise<void> {
  const own = await instanceOf(home.path)
  const instance = values.instance ?? own
  if (instance === undefined) {
    console.log(`There is no instance in ${home.path}: nothing to do. (--instance ID removes what another one left.)`)
    return
  }
  if (instance === own) await progress.step('Control plane', () => stopControlPlane(home))
  await progress.step('Containers and networks', async (log) => {
    const count = await removeOwned(new Docker(), instance, values.volumes, log)
    log(`removed ${count.containers} containers, ${count.networks} networks, ${count.volumes} volumes`)
  })
  if (instance === own && values.volumes) {
    await progress.step('State directory', () => rm(home.path, { recursive: true, force: true }))
  }
}

/** The supervisor ends its parts; if it was killed, what it left behind is ended here. */
async function stopControlPlane(home: Home): Promise<void> {
  await new HomeLock(home).end('SIGTERM', STOP_GRACE_MS)
  for (const name of ['agent', 'worker', 'api']) await new PidFile(join(home.runDir, `${name}.pid`)).end()
  await new PidFile(join(home.temporalDir, 'temporal.pid')).end()
  await endLeftoverPostgres(home.postgresDir)
}
