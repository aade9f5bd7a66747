/** How the program in an image behaves; times in milliseconds after its start. */
export interface Behaviour {
  /** When it begins to answer its port; null = never. */
  readyAfterMs: number | null
  /** It ends by itself after this long, every time. */
  exitAfterMs?: number
  exitCode?: number
  oom?: boolean
  /** It ends once in its first container's life, and never again. */
  crashOnceAfterMs?: number
  /** The engine cannot start it at all. */
  commandNotFound?: boolean
  /** How long it takes to end after SIGTERM. */
  stopMs: number
}

export interface SimImage {
  /** `repository:tag` as people write it. */
  reference: string
  digest: string
  id: string
  behaviour: Behaviour
  /** Only on the nodes, in no registry. */
  localOnly: boolean
}

const image = (name: string, number: number, behaviour: Behaviour, localOnly = false): SimImage => ({
  reference: `registry.test/${name}:1`,
  digest: `sha256:${String(number).padStart(64, 'd')}`,
  id: `sha256:${String(number).padStart(64, '1')}`,
  behaviour,
  localOnly,
})

/** Images that serve; the demo's is among them. */
export const goodImages: SimImage[] = [
  image('web-quick', 1, { readyAfterMs: 50, stopMs: 100 }),
  image('web-slow', 2, { readyAfterMs: 4_000, stopMs: 1_500 }),
  image('web-stubborn', 3, { readyAfterMs: 900, stopMs: 60_000 }),
  image('web-local', 4, { readyAfterMs: 300, stopMs: 500 }, true),
]

/** Serves, ends once, and serves for ever when it is started again. */
export const crashingImage = image('web-crash-once', 5, { readyAfterMs: 200, stopMs: 200, crashOnceAfterMs: 20_000, exitCode: 3 })

/** Images whose release must be given up, and the reason that has to be told. */
export const badImages: { image: SimImage; reason: string }[] = [
  { image: image('bad-exits', 21, { readyAfterMs: null, exitAfterMs: 700, exitCode: 2, stopMs: 50 }), reason: 'ContainerExited' },
  {
    image: image('bad-oom', 22, { readyAfterMs: null, exitAfterMs: 1_500, exitCode: 137, oom: true, stopMs: 50 }),
    reason: 'OOMKilled',
  },
  { image: image('bad-never-ready', 23, { readyAfterMs: null, stopMs: 300 }), reason: 'ReadinessTimeout' },
  { image: image('bad-command', 24, { readyAfterMs: null, commandNotFound: true, stopMs: 0 }), reason: 'CommandNotFound' },
]

export const missingImage = 'registry.test/nowhere:1'

export const demoImage: SimImage = {
  reference: 'nginx:1.28-alpine',
  digest: `sha256:${'9'.repeat(64)}`,
  id: `sha256:${'8'.repeat(64)}`,
  behaviour: { readyAfterMs: 20, stopMs: 50 },
  localOnly: false,
}

/** The node's ingress, in two versions. */
export const caddyImages: SimImage[] = ['caddy:2.11', 'caddy:2.12'].map((reference, i) => ({
  reference,
  digest: `sha256:${String(i).padStart(64, '7')}`,
  id: `sha256:${String(i).padStart(64, '6')}`,
  behaviour: { readyAfterMs: 80, stopMs: 150 },
  localOnly: false,
}))

export const allImages: SimImage[] = [...goodImages, crashingImage, ...badImages.map((b) => b.image), demoImage, ...caddyImages]

export function repositoryOf(reference: string): string {
  const name = reference.split('@')[0] ?? reference
  const colon = name.lastIndexOf(':')
  return colon > name.lastIndexOf('/') ? name.slice(0, colon) : name
}
