import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type Docker from 'dockerode'
import { label } from '../../reconcile/labels.js'
import { cacheDir } from '../cache-dir.js'
import { reasonOf } from '../reason.js'
import type { SetupLog } from '../setup-log.js'
import { DebianPackages } from './debian-packages.js'
import { packImage } from './image-archive.js'
import { RootFolder } from './root-folder.js'
import { STAND_INS, type StandIn } from './stand-ins.js'

/** A registry that has said nothing by then is taken to be out of reach. */
const FIRST_ANSWER_MS = 5_000
/** A pull that makes no progress for so long is given up. */
const STALLED_MS = 60_000

/**
 * Makes sure that the engine has this image: what is there is used, else it is pulled, else a stand-in is made.
 * A stand-in stays until someone removes it (`docker rmi`); the next call then pulls the official one if it can.
 */
export async function ensureImage(
  docker: Docker,
  name: string,
  log: SetupLog,
  standIns: readonly StandIn[] = STAND_INS,
): Promise<void> {
  if (await present(docker, name)) return
  const standIn = standIns.find((candidate) => candidate.names.includes(name))
  let refusal = 'no registry has it'
  if (!standIn?.localOnly) {
    try {
      log(`Image ${name}: pulling`)
      return await pull(docker, name)
    } catch (error) {
      refusal = reasonOf(error)
    }
  }
  const cure = `Give this machine a way to the registry and run this again, or load the image by hand (docker load).`
  if (!standIn) throw new Error(`The image ${name} cannot be pulled: ${refusal}. ${cure}`)
  log(`Image ${name}: ${standIn.localOnly ? 'making it' : `cannot be pulled (${refusal}), making a stand-in`} ${standIn.origin}`)
  try {
    await makeStandIn(docker, standIn)
  } catch (error) {
    throw new Error(`The image ${name} cannot be pulled (${refusal}), nor made ${standIn.origin} (${reasonOf(error)}). ${cure}`)
  }
}

async function present(docker: Docker, name: string): Promise<boolean> {
  try {
    await docker.getImage(name).inspect()
    return true
  } catch (error) {
    if ((error as { statusCode?: number }).statusCode === 404) return false
    throw error
  }
}

async function pull(docker: Docker, name: string): Promise<void> {
  const patience = new Patience()
  try {
    patience.allow(FIRST_ANSWER_MS, `no answer within ${FIRST_ANSWER_MS / 1000} s`)
    const progress: NodeJS.ReadableStream = await docker.pull(name, { abortSignal: patience.signal })
    await follow(docker, progress, () => patience.allow(STALLED_MS, `no progress for ${STALLED_MS / 1000} s`))
  } catch (error) {
    throw patience.signal.aborted ? patience.signal.reason : error
  } finally {
    patience.end()
  }
}

/** Reads the engine's progress messages to their end; the last word may be an error although the answer was 200. */
function follow(docker: Docker, stream: NodeJS.ReadableStream, onProgress: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    docker.modem.followProgress(stream, (error: Error | null) => (error ? reject(error) : resolve()), onProgress)
  })
}

/** A deadline that progress moves forward. */
class Patience {
  private readonly abort = new AbortController()
  private timer: NodeJS.Timeout | undefined

  get signal(): AbortSignal {
    return this.abort.signal
  }

  allow(ms: number, otherwise: string): void {
    this.end()
    this.timer = setTimeout(() => this.abort.abort(new Error(otherwise)), ms)
  }

  end(): void {
    clearTimeout(this.timer)
  }
}

async function makeStandIn(docker: Docker, standIn: StandIn): Promise<void> {
  await mkdir(cacheDir(), { recursive: true })
  const scratch = await mkdtemp(join(cacheDir(), '.image-'))
  try {
    const root = new RootFolder(join(scratch, 'root'))
    await root.addFolder('.')
    const workshop = { scratch, cacheDir: cacheDir(), packages: new DebianPackages(join(cacheDir(), 'debian')) }
    const config = await standIn.make(root, workshop)
    const labelled = { ...config, Labels: { ...config.Labels, [label.standIn]: 'true' } }
    const archive = await packImage(scratch, root.path, standIn.names, labelled)
    await follow(docker, await docker.loadImage(archive), () => {})
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}
