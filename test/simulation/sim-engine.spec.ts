import { engineContract } from '../../src/adapters/docker/engine.contract.js'
import { Faults } from './faults.js'
import { calm } from './calm.js'
import { Random } from './random.js'
import { SimEngine } from './sim-engine.js'
import { goodImages } from './sim-images.js'
import { VirtualClock } from './virtual-clock.js'

/** The model keeps to what Docker does: the same suite runs against both. Its time passes here as real time does. */
engineContract('the simulation', async () => {
  const clock = new VirtualClock(Date.now())
  const random = new Random(1)
  const witness = { asked: () => undefined, volumeAsked: () => undefined, changed: () => undefined }
  const engine = new SimEngine('node_1', clock, random, new Faults(calm, random), witness, () => undefined, 0)
  let running = true
  const passes = async (): Promise<void> => {
    while (running) {
      await clock.run(Date.now(), () => undefined)
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }
  const passed = passes()
  const image = goodImages.find((i) => i.localOnly)
  if (!image) throw new Error('no image is local')
  return {
    engine,
    network: { name: 'n', subnet: '10.192.0.0/20', gateway: '10.192.0.1', dynamicRange: '10.192.15.0/24', mtu: 1380, dns: [] },
    addresses: ['10.192.0.11', '10.192.0.12'],
    labels: { 'evenkeel.instance': 'contract' },
    image: image.reference,
    unreachableImage: '127.0.0.1:1/evenkeel/none:1',
    exitingEnv: (code) => [['EXIT_CODE', String(code)]],
    pause: async (name) => {
      const container = engine.byName(name)
      if (container) engine.byHand.pause(container)
    },
    readFile: async (name, path) => {
      const file = engine.byName(name)?.files.get(path)
      return file ? { content: file.content.toString(), mode: file.mode } : null
    },
    envOf: async (name) => engine.byName(name)?.env ?? [],
    makeVolume: async (volume, labels) => void engine.volumesByName.set(volume, labels),
    hostPaths: { folder: '/srv', device: '/dev/fuse' },
    removeNetwork: () => engine.removeNetwork(),
    dispose: async () => {
      running = false
      await passed
    },
  }
})
