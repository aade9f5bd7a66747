import { describe, expect, it } from 'vitest'
import { argsSchemas, type Verb } from '../../src/reconcile/action.js'
import type { ApplicationSpec } from '../../src/reconcile/application/spec.js'
import { processOf, travel, type Death, type Step, type Travelled, type Way } from './half-success.js'

const quick = 'registry.test/web-quick:1'
const slow = 'registry.test/web-slow:1'
const exits = 'registry.test/bad-exits:1'
const replicas = 2

const strategies = ['rolling', 'blue-green', 'recreate'] as const
type Strategy = (typeof strategies)[number]

const states = {
  // A registry that wants a log-in is asked by an action.
  fresh: (spec): Way => ({
    from: null,
    act: (a) => a.create({ ...spec, registryCredential: 'hub' }),
    end: running(1, quick),
    serving: 0,
  }),
  'crashed replica': (from): Way => ({ from, act: (a) => a.crash(0), end: running(1, quick), inPlace: true, serving: 1 }),
  'hanging replica': (from): Way => ({
    from: { ...from, liveness: { path: '/', intervalSeconds: 1 } },
    act: (a) => a.hang(0),
    end: running(1, quick),
    inPlace: true,
    serving: 1,
  }),
  'replacing a release': (from, gap): Way => ({
    from,
    act: (a) => a.change({ ...from, image: slow, preDeploy: { command: ['migrate'] } }, gap),
    end: running(2, slow),
    serving: gap ? 0 : replicas,
  }),
  'replacing by one that exits': (from, gap): Way => ({
    from,
    act: (a) => a.change({ ...from, image: exits }, gap),
    end: { ...running(1, quick), ready: 'False ContainerExited' },
    serving: gap ? 0 : replicas,
  }),
  'other limits': (from): Way => ({
    from,
    act: (a) => a.change({ ...from, resources: { memoryBytes: 64 * 1024 * 1024 } }, false),
    end: running(1, quick),
    inPlace: true,
    serving: replicas,
  }),
  suspended: (from): Way => ({
    from,
    act: (a) => a.change({ ...from, suspended: true }, true),
    end: { ready: 'True Suspended', release: 1, image: quick, replicas: 0 },
    serving: 0,
  }),
  'deleting with its volumes': (from): Way => ({
    from: { ...from, volumes: [{ name: 'data', path: '/data' }] },
    act: (a) => a.remove(true),
    end: 'gone',
    serving: 0,
  }),
  deleting: (from): Way => ({ from, act: (a) => a.remove(), end: 'gone', serving: 0 }),
} satisfies Record<string, (from: ApplicationSpec, gap: boolean) => Way>

function running(release: number, image: string) {
  return { ready: 'True Running', release, image, replicas }
}

function specOf(strategy: Strategy): ApplicationSpec {
  const readiness = { path: '/', intervalSeconds: 1 }
  return {
    image: quick,
    ports: [80],
    replicas,
    readiness,
    strategy,
    stopGraceSeconds: 2,
    drainSeconds: 10,
    startupBudgetSeconds: 20,
  }
}

interface Journey {
  strategy: Strategy
  state: string
  way: Way
  undisturbed: Travelled
}

/** What no strategy has a say in is tried with one. */
const whateverTheStrategy = ['hanging replica', 'other limits', 'deleting with its volumes']

async function journeys(): Promise<Journey[]> {
  const all: Journey[] = []
  for (const strategy of strategies)
    for (const [state, wayOf] of Object.entries(states)) {
      if (strategy !== 'rolling' && whateverTheStrategy.includes(state)) continue
      const way = wayOf(specOf(strategy), strategy === 'recreate')
      all.push({ strategy, state, way, undisturbed: await travel(way) })
    }
  return all
}

/** What no application ever asks for. */
const ofOtherKinds: Verb[] = ['loadIngressConfig']

/** An action that was never begun has changed nothing since the pass that wanted it. */
const deathsOver = ({ kind }: Step): Death['when'][] => (kind === 'action' ? ['after'] : ['before', 'after'])

/** The ways are gone once without trouble: that tells what steps there are to die over. */
const all = await journeys()

describe.each(all)('half-success: $strategy, $state', ({ way, undisturbed: { steps, wrong } }) => {
  it('nobody dies -> as wanted, and quiet', () => expect(wrong).toEqual([]))

  const rows = steps.flatMap((step, at) =>
    deathsOver(step).map((when) => ({ step, at, when, who: processOf(step), what: `${at + 1}, ${step.name}` })),
  )
  it.each(rows)('the $who dies $when step $what -> as wanted all the same', async ({ at, when, step }) => {
    const travelled = await travel(way, { at, when })
    expect(travelled.steps[at]).toEqual(step)
    expect(travelled.wrong).toEqual([])
  })
})

it('half-success: every verb is on one of these ways', () => {
  const met = new Set(all.flatMap((j) => [...j.undisturbed.verbs]))
  const applications = (Object.keys(argsSchemas) as Verb[]).filter((verb) => !ofOtherKinds.includes(verb))
  expect([...met].sort()).toEqual(applications.sort())
})
