import { Controller, Get, Inject, Res } from '@nestjs/common'
import { heartbeatStaleMs } from '../../agent/protocol.js'
import { NodeRepository } from '../../persistence/node.repository.js'
import { API_OPTIONS, type ApiOptions } from '../api.options.js'

/** The part of the HTTP server's response that is needed here. */
interface JsonResponse {
  status(code: number): { json(body: unknown): void }
}

interface Check {
  ok: boolean
  message: string
}

/** What the agent's canary has to have found before containers can be worked with. */
const canaryConditions = ['EngineSupported', 'ContainersReachable']

/** No check may hold a load balancer up. */
const checkMs = 2_000

@Controller()
export class HealthController {
  /** What was told to an API before this one may be of an agent that is gone. */
  private readonly startedAt: number

  constructor(
    @Inject(NodeRepository) private readonly nodes: NodeRepository,
    @Inject(API_OPTIONS) private readonly options: ApiOptions,
  ) {
    this.startedAt = options.clock()
  }

  /** The process is alive; asks nobody. */
  @Get('healthz')
  healthz(): { ok: true } {
    return { ok: true }
  }

  /** Everything that a mutation needs to take effect: PostgreSQL, Temporal, and the local agent's canary. */
  @Get('readyz')
  async readyz(@Res() response: JsonResponse): Promise<void> {
    const [postgresql, temporal, agent] = await Promise.all([
      check(async () => void (await this.nodes.ages(new Date(this.options.clock())))),
      check(() => this.options.temporal.check()),
      check(() => this.checkAgent()),
    ])
    const ok = postgresql.ok && temporal.ok && agent.ok
    response.status(ok ? 200 : 503).json({ ok, checks: { postgresql, temporal, agent } })
  }

  private async checkAgent(): Promise<string | void> {
    const { localNodeId } = this.options
    if (localNodeId === null) return 'no agent belongs to this process'
    const [status] = await this.nodes.statusOfMany([localNodeId])
    if (!status?.lastSeenAt) throw new Error('the local agent has not connected yet')
    const silentMs = this.options.clock() - status.lastSeenAt.getTime()
    if (silentMs > heartbeatStaleMs) throw new Error(`the local agent has sent no heartbeat for ${Math.round(silentMs / 1000)} s`)
    if (status.lastSeenAt.getTime() < this.startedAt) throw new Error('the local agent has not connected since this API started')
    for (const type of canaryConditions) {
      const canary = status.reported.find((c) => c.type === type)
      if (!canary || canary.status === 'Unknown')
        throw new Error(`the local agent's canary ${type} has not ended yet${canary ? `: ${canary.message}` : ''}`)
      if (canary.status === 'False') throw new Error(`${canary.reason}: ${canary.message}`)
    }
  }
}

async function check(work: () => Promise<string | void>): Promise<Check> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${checkMs / 1000} s`)), checkMs)
  })
  try {
    return { ok: true, message: (await Promise.race([work(), late])) ?? 'ok' }
  } catch (error) {
    return { ok: false, message: error instanceof Error ? error.message : String(error) }
  } finally {
    clearTimeout(timer)
  }
}
