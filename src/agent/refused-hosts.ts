export interface RefusedHost {
  host: string
  /** Caddy's words. */
  message: string
}

/** Why a configuration with these hosts alone is not taken; null = it is. */
export type AskOfHosts = (hosts: string[]) => Promise<string | null>

interface Limits {
  /** Each question is a whole configuration that Caddy tries. */
  questions: number
  /** False: there is no time for another one. */
  timeLeft(): boolean
}

/** From here on that many refused hosts have to be the smaller part: else it is not they what is wrong. */
const fewHosts = 3

/**
 * Finds the hosts for which a configuration is refused. Hosts are added to those that are known to be good, so what remains
 * is a configuration that was taken as a whole, and of hosts that exclude each other the later ones are refused: `hosts` has
 * first what is served already. Empty: it is not a few hosts what is wrong. Who runs out of questions answers with what was
 * found so far, and the next load finds more.
 */
export async function refusedHosts(
  hosts: { served: string[]; others: string[] },
  ask: AskOfHosts,
  limits: Limits,
): Promise<RefusedHost[]> {
  const search = new Search(ask, limits)
  try {
    if ((await search.ask([])) !== null) return []
    await search.add(hosts.served)
    await search.add(hosts.others)
  } catch (error) {
    if (!(error instanceof OutOfQuestions)) throw error
  }
  const { refused, good } = search
  return refused.length <= fewHosts || refused.length <= good.length ? refused : []
}

class OutOfQuestions extends Error {}

class Search {
  readonly good: string[] = []
  readonly refused: RefusedHost[] = []
  private asked = 0

  constructor(
    private readonly asking: AskOfHosts,
    private readonly limits: Limits,
  ) {}

  ask(hosts: string[]): Promise<string | null> {
    if (this.asked === this.limits.questions || !this.limits.timeLeft()) throw new OutOfQuestions()
    this.asked++
    return this.asking(hosts)
  }

  /** `known`: what was said when these were tried together with the good ones. */
  async add(hosts: string[], known: string | null = null): Promise<void> {
    const [first] = hosts
    if (first === undefined) return
    const message = known ?? (await this.ask([...this.good, ...hosts]))
    if (message === null) this.good.push(...hosts)
    else if (hosts.length === 1) this.refused.push({ host: first, message })
    else await this.addHalves(hosts, message)
  }

  private async addHalves(hosts: string[], message: string): Promise<void> {
    const half = Math.ceil(hosts.length / 2)
    const before = this.refused.length
    await this.add(hosts.slice(0, half))
    // The first half is good as a whole: then the second is what the answer was about.
    await this.add(hosts.slice(half), this.refused.length === before ? message : null)
  }
}
