import { Inject, Injectable } from '@nestjs/common'
import { Kind, type OperationDefinitionNode } from 'graphql'
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import { NodeRepository } from '../../persistence/node.repository.js'
import { ResourceRepository } from '../../persistence/resource.repository.js'
import { AgentsGateway } from '../agents/agents.gateway.js'
import { API_OPTIONS, type ApiOptions } from '../api.options.js'
import { Logs } from '../log/log.service.js'

/** What this process counts, and what PostgreSQL says at the moment of a scrape. */
@Injectable()
export class Metrics {
  private readonly registry = new Registry()

  readonly httpSeconds = new Histogram({
    name: 'evenkeel_http_request_duration_seconds',
    help: 'Time until an HTTP request was answered.',
    labelNames: ['method', 'path', 'status'] as const,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [this.registry],
  })

  private readonly operations = new Counter({
    name: 'evenkeel_graphql_operations_total',
    help: 'GraphQL operations, by their first field.',
    labelNames: ['type', 'field', 'outcome'] as const,
    registers: [this.registry],
  })

  constructor(
    @Inject(ResourceRepository) resources: ResourceRepository,
    @Inject(NodeRepository) nodes: NodeRepository,
    @Inject(AgentsGateway) agents: AgentsGateway,
    @Inject(Logs) logs: Logs,
    @Inject(API_OPTIONS) { clock }: ApiOptions,
  ) {
    const registers = [this.registry]
    collectDefaultMetrics({ register: this.registry, prefix: 'evenkeel_api_' })
    new Gauge({
      name: 'evenkeel_resources',
      help: 'Resources by kind, by the status of Ready, and by whether the newest generation was looked at.',
      labelNames: ['kind', 'ready', 'out_of_step'] as const,
      registers,
      async collect() {
        this.reset()
        for (const { kind, ready, outOfStep, count } of await resources.counts())
          this.set({ kind, ready, out_of_step: String(outOfStep) }, count)
      },
    })
    new Gauge({
      name: 'evenkeel_node_last_seen_seconds',
      help: 'Seconds since a node was heard; absent for one that was never heard.',
      labelNames: ['node', 'name'] as const,
      registers,
      async collect() {
        this.reset()
        for (const { id, name, ageSeconds } of await nodes.ages(new Date(clock()))) {
          if (ageSeconds !== null) this.set({ node: id, name }, ageSeconds)
        }
      },
    })
    new Gauge({
      name: 'evenkeel_agents_connected',
      help: 'Agents that are connected to this process.',
      registers,
      collect() {
        this.set(agents.connectedNodes().length)
      },
    })
    new Gauge({
      name: 'evenkeel_log_readers',
      help: 'Logs of applications that are being read through this process.',
      registers,
      collect() {
        this.set(logs.openReaders)
      },
    })
    new Counter({
      name: 'evenkeel_log_lines_dropped_total',
      help: 'Lines that readers of logs did not get because they read too slowly.',
      registers,
      collect() {
        this.reset()
        this.inc(logs.droppedLines)
      },
    })
  }

  /** `null` for one that was refused before the schema had checked it. */
  countOperation(operation: OperationDefinitionNode | null | undefined, outcome: 'ok' | 'error'): void {
    const [first] = operation?.selectionSet.selections ?? []
    this.operations.inc({
      type: operation?.operation ?? 'invalid',
      field: first?.kind === Kind.FIELD ? first.name.value : '',
      outcome,
    })
  }

  get contentType(): string {
    return this.registry.contentType
  }

  render(): Promise<string> {
    return this.registry.metrics()
  }
}
