import { Resolver } from 'node:dns/promises'

const timeoutMs = 250

/** What the node's resolver answers: addresses, or why there is no answer. */
export type Lookup = { addresses: string[] } | { silent: string }

/** Asks the node's own resolver directly, past every cache. */
export class ResolverClient {
  private resolver: Resolver | null = null
  private address = ''

  async lookup(server: string, name: string): Promise<Lookup> {
    try {
      return { addresses: (await this.at(server).resolve4(name)).sort() }
    } catch (error) {
      return noSuchName(error) ? { addresses: [] } : { silent: codeOf(error) }
    }
  }

  /** True when the server answers for its zone at all. */
  async answers(server: string, zone: string): Promise<boolean> {
    try {
      await this.at(server).resolveSoa(zone)
      return true
    } catch {
      return false
    }
  }

  private at(server: string): Resolver {
    if (this.resolver && this.address === server) return this.resolver
    this.resolver = new Resolver({ timeout: timeoutMs, tries: 1 })
    this.resolver.setServers([server])
    this.address = server
    return this.resolver
  }
}

function noSuchName(error: unknown): boolean {
  return codeOf(error) === 'ENOTFOUND' || codeOf(error) === 'ENODATA'
}

function codeOf(error: unknown): string {
  return (error as { code?: string }).code ?? String(error)
}
