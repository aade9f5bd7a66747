import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type Docker from 'dockerode'
import { ensureImage } from '../../src/embedded/images/ensure-image.js'
import { buildGoProgram } from '../../src/embedded/images/go-program.js'
import {
  BUSYBOX_IMAGE,
  CADDY_IMAGE,
  COREDNS_IMAGE,
  NGINX_IMAGE,
  STAND_INS,
  type StandIn,
} from '../../src/embedded/images/stand-ins.js'
import type { SetupLog } from '../../src/embedded/setup-log.js'

const SOURCE = join(import.meta.dirname, '../fixtures/testapp/main.go')
const PORT = 8080
const sourceLabel = 'evenkeel.test-source'
const sourceHash = createHash('sha256').update(readFileSync(SOURCE)).digest('hex').slice(0, 16)

export type TestAppVersion = '1' | '2' | '3'
const VERSIONS: readonly TestAppVersion[] = ['1', '2', '3']

/** The image of the test application (test/fixtures/testapp); its versions differ in what GET / answers. */
export function testAppImage(version: TestAppVersion): string {
  return `evenkeel/testapp:${version}`
}

/** It holds one program and nothing else: no shell, no curl. */
function testApp(version: TestAppVersion): StandIn {
  return {
    names: [testAppImage(version)],
    origin: 'from test/fixtures/testapp',
    localOnly: true,
    async make(root, { scratch }) {
      await root.addProgram(await buildGoProgram(SOURCE, join(scratch, 'testapp')), 'testapp')
      await root.addFolder('tmp', 0o1777)
      return {
        Env: [`VERSION=${version}`, `PORT=${PORT}`],
        Entrypoint: ['/testapp'],
        ExposedPorts: { [`${PORT}/tcp`]: {} },
        Labels: { [sourceLabel]: sourceHash },
      }
    },
  }
}

const RECIPES = [...STAND_INS, ...VERSIONS.map(testApp)]

/** Makes sure of one image that a test uses, the test application's included. */
export async function ensureTestImage(docker: Docker, name: string, log: SetupLog): Promise<void> {
  if (VERSIONS.map(testAppImage).includes(name)) await forgetOfOlderSource(docker, name)
  return ensureImage(docker, name, log, RECIPES)
}

async function forgetOfOlderSource(docker: Docker, name: string): Promise<void> {
  const found = await docker.getImage(name).inspect().catch(() => null)
  if (found && found.Config.Labels?.[sourceLabel] !== sourceHash) await docker.getImage(name).remove({ force: true })
}

/** Every image that some test uses. */
export async function ensureTestImages(docker: Docker, log: SetupLog): Promise<void> {
  const platform = [BUSYBOX_IMAGE, NGINX_IMAGE, CADDY_IMAGE, COREDNS_IMAGE]
  for (const name of [...platform, ...VERSIONS.map(testAppImage)]) await ensureTestImage(docker, name, log)
}
