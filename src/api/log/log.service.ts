import { Inject, Injectable } from '@nestjs/common'
import { GraphQLError } from 'graphql'
import { logStreams } from '../../agent/protocol.js'
import { ApplicationRepository } from '../../persistence/application.repository.js'
import { ResourceRepository } from '../../persistence/resource.repository.js'
import { AgentsGateway } from '../agents/agents.gateway.js'
import type { Actor } from '../auth/actor.js'
import { tooMany } from '../auth/authenticator.service.js'
import { ChangeFeed } from '../change/change-feed.service.js'
import { lineFilter, type Grep } from './line-filter.js'
import { decodePosition, lineTime, type LogPosition } from './log-position.js'
import { LogReader } from './log-reader.js'
import type { LogStreams } from './log.model.js'

export interface LogRequest {
  id: string
  follow: boolean
  since: Date | null
  tail: number | null
  stream: LogStreams
  grep: Grep | null
  after: string | null
  replicas: readonly number[] | null
}

/** Logs that one token may read at once. */
const openMost = 20

/** Opens readers of applications' logs, and counts who has how many. */
@Injectable()
export class Logs {
  private readonly open = new Map<string, number>()
  private dropped = 0

  constructor(
    @Inject(AgentsGateway) private readonly agents: AgentsGateway,
    @Inject(ApplicationRepository) private readonly applications: ApplicationRepository,
    @Inject(ResourceRepository) private readonly resources: ResourceRepository,
    @Inject(ChangeFeed) private readonly changes: ChangeFeed,
  ) {}

  /** How many logs are being read; each belongs to a subscription or to a query that is under way. */
  get openReaders(): number {
    return [...this.open.values()].reduce((sum, n) => sum + n, 0)
  }

  /** Lines that slow readers have not got, since the start. */
  get droppedLines(): number {
    return this.dropped
  }

  async read(request: LogRequest, actor: Actor): Promise<LogReader> {
    const { id, follow, stream, grep, after } = request
    const position: LogPosition =
      after === null ? { from: request.since ? lineTime(request.since) : null, replicas: new Map() } : decodePosition(id, after)
    const wanted = lineFilter(grep)
    const onEnd = this.take(actor)
    const reader = new LogReader({
      resource: id,
      follow,
      tail: after === null ? request.tail : null,
      // Docker, too, counts lines before it leaves out those of the other stream.
      filtered: grep !== null || stream !== 'both',
      streams: stream === 'both' ? [...logStreams] : [stream],
      position,
      wanted,
      call: (nodeId, params, onChunk) => this.agents.call(nodeId, 'logs', params, onChunk),
      replicas: () => this.replicas(request),
      changes: follow ? this.changes.follow() : null,
      onDropped: (lines) => (this.dropped += lines),
      onEnd,
    })
    try {
      await reader.start()
    } catch (error) {
      await reader.return()
      throw error
    }
    return reader
  }

  private async replicas({ id, replicas }: LogRequest) {
    const endpoints = await this.applications.endpointsOfMany([id])
    if (endpoints.length === 0 && (await this.resources.get(id, 'application')) === null) return null
    return endpoints
      .filter((e) => replicas === null || replicas.includes(e.replica))
      .map(({ release, replica, node }) => ({ release, replica, nodeId: node }))
  }

  private take({ tokenId }: Actor): () => void {
    const held = this.open.get(tokenId) ?? 0
    if (held >= openMost) throw tooMany(`a token may read ${openMost} logs at once: close one first`)
    this.open.set(tokenId, held + 1)
    return () => {
      const left = (this.open.get(tokenId) ?? 1) - 1
      if (left > 0) this.open.set(tokenId, left)
      else this.open.delete(tokenId)
    }
  }
}

export function badInput(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'BAD_USER_INPUT' } })
}
