import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import Docker from 'dockerode'
import { instanceOf, requireInstanceId } from './embedded/home.js'
import { removeOwned } from './embedded/owned-things.js'
import { endLeftoverPostgres } from './embedded/postgres.js'
import { PidFile } from './embedded/processes.js'
import { Progress } from './embedded/progress.js'
import { reasonOf } from './embedded/reason.js'
import { supervisorPidFile } from './embedded/up.js'
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
  await down(readSettings().home)
} catch (error) {
  console.error(reasonOf(error))
  process.exitCode = 1
}

async function down(home: string): Promise<void> {
  const own = await instanceOf(home)
  const instance = values.instance === undefined ? own : requireInstanceId(values.instance)
  if (instance === undefined) {
    console.log(`There is no instance in ${home}: nothing to do. (--instance ID removes what another one left.)`)
    return
  }
  if (instance === own) await progress.step('Control plane', () => stopControlPlane(home))
  await progress.step('Containers and networks', async (log) => {
    const count = await removeOwned(new Docker(), instance, values.volumes, log)
    log(`removed ${count.containers} containers, ${count.networks} networks, ${count.volumes} volumes`)
  })
  if (instance === own && values.volumes) {
    await progress.step('State directory', () => rm(home, { recursive: true, force: true }))
  }
}

/** The supervisor ends its parts; if it was killed, what it left behind is ended here. */
async function stopControlPlane(home: string): Promise<void> {
  await supervisorPidFile(home).end('SIGTERM', STOP_GRACE_MS)
  for (const name of ['agent', 'worker', 'api']) await new PidFile(join(home, 'run', `${name}.pid`)).end()
  await new PidFile(join(home, 'temporal', 'temporal.pid')).end()
  await endLeftoverPostgres(join(home, 'postgres'))
}
