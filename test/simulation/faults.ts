import type { DatabaseFaults } from './sim-database.js'
import type { EngineFaults } from './sim-engine.js'
import type { TransportFaults } from './sim-temporal.js'
import type { Random } from './random.js'

/** Which kinds of trouble a seed has, and how much; probabilities are for each call. */
export interface Profile {
  engineRefuses: number
  engineLosesAnswers: number
  engineSlow: number
  slowRemoval: number
  eventsLost: number
  eventsDoubled: number
  slowPulls: number
  databaseFails: number
  databaseSlow: number
  nudgesLost: number
  stalls: number
  disasters: Disaster[]
  /** People use `docker` behind our back. */
  hands: boolean
  /** Some images do not work. */
  badImages: boolean
  /** Some programs end by themselves after they were ready. */
  crashes: boolean
  nodes: number
  /** That a node's network has for replicas; few = each is soon somebody else's. */
  addresses: number
  skew: boolean
}

export const disasters = [
  'dockerd away',
  'power cut',
  'agent dies',
  'agent freezes',
  'worker dies',
  'database away',
  'temporal away',
  'temporal lost',
  'registry away',
  'network gone',
  'ingress crashes',
] as const
export type Disaster = (typeof disasters)[number]

export function drawProfile(random: Random): Profile {
  const some = (few: number, many: number) => random.pick([0, 0, few, many])
  return {
    engineRefuses: some(0.02, 0.12),
    engineLosesAnswers: some(0.02, 0.1),
    engineSlow: some(0.01, 0.05),
    slowRemoval: some(0.1, 0.5),
    eventsLost: some(0.1, 0.6),
    eventsDoubled: some(0.1, 0.3),
    slowPulls: some(0.1, 0.5),
    databaseFails: some(0.02, 0.1),
    databaseSlow: some(0.005, 0.03),
    nudgesLost: some(0.1, 0.5),
    stalls: some(0.01, 0.05),
    disasters: disasters.filter(() => random.chance(0.35)),
    hands: random.chance(0.4),
    badImages: random.chance(0.5),
    crashes: random.chance(0.3),
    nodes: random.chance(0.35) ? 2 : 1,
    addresses: random.pick([24, 34, 3_830]),
    skew: random.chance(0.3),
  }
}

/** A seed without any of these must not lose a single request: nothing but Evenkeel itself could take replicas away. */
export function gentle(profile: Profile): boolean {
  return !profile.hands && !profile.crashes && !profile.disasters.includes('power cut')
}

/** Draws each fault when it is asked for; after `calm()` nothing goes wrong any more. */
export class Faults implements EngineFaults, TransportFaults {
  private active = true
  readonly away = { registry: false, database: false }

  constructor(
    private readonly profile: Profile,
    private readonly random: Random,
  ) {}

  calm(): void {
    this.active = false
    this.away.registry = false
    this.away.database = false
  }

  latencyMs(): number {
    return this.hit(this.profile.engineSlow) ? this.random.between(500, 15_000) : this.random.between(0.5, 8)
  }

  refuses(): boolean {
    return this.hit(this.profile.engineRefuses)
  }

  losesAnswer(): boolean {
    return this.hit(this.profile.engineLosesAnswers)
  }

  removalMs(): number {
    return this.hit(this.profile.slowRemoval) ? this.random.between(300, 12_000) : this.random.between(5, 60)
  }

  creationMs(): number {
    return this.hit(this.profile.engineSlow) ? this.random.between(500, 12_000) : this.random.between(0.5, 30)
  }

  losesEvent(): boolean {
    return this.hit(this.profile.eventsLost)
  }

  doublesEvent(): boolean {
    return this.hit(this.profile.eventsDoubled)
  }

  registryAway(): boolean {
    return this.away.registry
  }

  pullMs(): number {
    return this.hit(this.profile.slowPulls) ? this.random.between(5_000, 60_000) : this.random.between(30, 1_500)
  }

  stallMs(): number {
    return this.hit(this.profile.stalls) ? this.random.between(3_000, 150_000) : 0
  }

  toldOfTimeout(): boolean {
    return this.random.chance(0.5)
  }

  nudgeLost(): boolean {
    return this.hit(this.profile.nudgesLost)
  }

  /** Tasks of Temporal. */
  readonly transport: TransportFaults = {
    latencyMs: () => this.random.between(0.5, 6),
    stallMs: () => this.stallMs(),
    toldOfTimeout: () => this.toldOfTimeout(),
  }

  readonly database: DatabaseFaults = {
    away: () => this.away.database,
    latencyMs: () => (this.hit(this.profile.databaseSlow) ? this.random.between(1_000, 14_000) : this.random.between(0.3, 4)),
    failsBefore: () => this.hit(this.profile.databaseFails),
    failsAfter: () => this.hit(this.profile.databaseFails),
  }

  private hit(probability: number): boolean {
    return this.active && probability > 0 && this.random.chance(probability)
  }
}
