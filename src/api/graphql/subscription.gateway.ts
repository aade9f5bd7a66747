import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common'
import { HttpAdapterHost } from '@nestjs/core'
import { GraphQLSchemaHost } from '@nestjs/graphql'
import {
  createSourceEventStream,
  execute,
  getOperationAST,
  GraphQLError,
  parse,
  validate,
  type ExecutionArgs,
  type ExecutionResult,
} from 'graphql'
import { CloseCode, GRAPHQL_TRANSPORT_WS_PROTOCOL, type Context, type SubscribePayload } from 'graphql-ws'
import { useServer, type Extra } from 'graphql-ws/use/ws'
import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { API_OPTIONS, type ApiOptions } from '../api.options.js'
import type { Actor } from '../auth/actor.js'
import { Authenticator } from '../auth/authenticator.service.js'
import { expanded } from '../change/change-feed.service.js'
import { parsedTokensMost, refuseHeavy } from '../limits/operation-weight.js'
import { Metrics } from '../metrics/metrics.service.js'
import type { GraphqlContext } from './context.js'
import { LoaderFactory } from './loaders.js'
import { OperationRate } from './operation-rate.service.js'
import { toldError } from './told-error.js'

const path = '/graphql'
/** A token that ends while a subscription lives ends it after at most this long. */
const recheckMs = 30_000

interface Session extends Extra, Record<PropertyKey, unknown> {
  authorization?: string
  actor?: Actor
  recheck?: NodeJS.Timeout
}

/** GraphQL over WebSocket (protocol graphql-transport-ws) at /graphql: subscriptions, and queries and mutations, too. */
@Injectable()
export class SubscriptionGateway implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly sockets: WebSocketServer
  private server: ReturnType<typeof useServer> | undefined
  private opened = 0

  constructor(
    @Inject(HttpAdapterHost) private readonly http: HttpAdapterHost,
    @Inject(GraphQLSchemaHost) private readonly schemaHost: GraphQLSchemaHost,
    @Inject(Authenticator) private readonly authenticator: Authenticator,
    @Inject(LoaderFactory) private readonly loaders: LoaderFactory,
    @Inject(OperationRate) private readonly rate: OperationRate,
    @Inject(Metrics) private readonly metrics: Metrics,
    @Inject(API_OPTIONS) private readonly options: ApiOptions,
  ) {
    this.sockets = new WebSocketServer({
      noServer: true,
      maxPayload: options.limits.bodyBytes,
      handleProtocols: (protocols) => (protocols.has(GRAPHQL_TRANSPORT_WS_PROTOCOL) ? GRAPHQL_TRANSPORT_WS_PROTOCOL : false),
    })
  }

  onApplicationBootstrap(): void {
    this.server = useServer<Record<string, unknown>, Session>(
      {
        onConnect: (context) => this.connect(context),
        onDisconnect: ({ extra }) => clearInterval(extra.recheck),
        onClose: ({ extra }) => clearInterval(extra.recheck),
        onSubscribe: (context, _id, payload) => this.admit(context, payload),
        execute: (args) => execute(args as ExecutionArgs),
        subscribe: (args) => this.subscribe(args as ExecutionArgs),
        onError: (_context, _id, _payload, errors) => errors.map((e) => this.told(e)),
        onNext: (_context, _id, _payload, _args, result) =>
          result.errors ? { ...result, errors: result.errors.map((e) => this.told(e)) } : result,
      },
      this.sockets,
      15_000,
    )
    const http = this.http.httpAdapter.getHttpServer() as Server
    http.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      if (request.url?.split('?')[0] !== path) return
      this.sockets.handleUpgrade(request, socket, head, (webSocket) => this.sockets.emit('connection', webSocket, request))
    })
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.server?.dispose()
  }

  /** How many subscriptions have begun to follow since the start; the protocol itself has no word for it. */
  get openedSubscriptions(): number {
    return this.opened
  }

  /** The token comes in the connection's parameters, because a browser cannot set headers of a WebSocket. */
  private async connect({ extra, connectionParams }: Context<Record<string, unknown>, Session>): Promise<boolean> {
    const given =
      connectionParams?.['authorization'] ?? connectionParams?.['Authorization'] ?? extra.request.headers.authorization
    extra.authorization = typeof given === 'string' ? given : ''
    const actor = await this.authenticator
      .authenticate(extra.authorization, extra.request.socket.remoteAddress ?? '')
      .catch(() => null)
    // Who has gone meanwhile has been cleared up after already. False closes with 4403.
    if (!actor || extra.socket.readyState !== extra.socket.OPEN) return false
    extra.actor = actor
    extra.recheck = setInterval(() => void this.recheck(extra), recheckMs)
    extra.recheck.unref()
    return true
  }

  private async recheck(extra: Session): Promise<void> {
    const actor = await this.authenticator.find(extra.authorization).catch(() => extra.actor) // a database that is away ends nothing
    if (!actor) extra.socket.close(CloseCode.Forbidden, 'the token is revoked or expired')
  }

  private admit(
    { extra, subscriptions }: Context<Record<string, unknown>, Session>,
    payload: SubscribePayload,
  ): ExecutionArgs | readonly GraphQLError[] {
    const { limits } = this.options
    try {
      const { actor } = extra
      if (!actor) throw new GraphQLError('a token is needed', { extensions: { code: 'UNAUTHENTICATED' } })
      this.rate.take(actor)
      if (Object.keys(subscriptions).length > limits.subscriptionsPerConnection)
        throw new GraphQLError(`one connection may hold ${limits.subscriptionsPerConnection} subscriptions`, {
          extensions: { code: 'RATE_LIMITED' },
        })
      const { schema } = this.schemaHost
      const document = parse(payload.query, { maxTokens: parsedTokensMost })
      const invalid = validate(schema, document)
      if (invalid.length > 0)
        return invalid.map(
          (e) => new GraphQLError(e.message, { nodes: e.nodes, extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }),
        )
      const operation = getOperationAST(document, payload.operationName)
      const variables = payload.variables ?? {}
      if (operation) refuseHeavy({ schema, document, operation, variables }, limits)
      this.metrics.countOperation(operation, 'ok')
      return {
        schema,
        document,
        operationName: payload.operationName,
        variableValues: variables,
        contextValue: this.contextOf(actor),
      }
    } catch (error) {
      if (error instanceof GraphQLError) return [error]
      throw error
    }
  }

  /** Each event is resolved with loaders of its own: what an earlier event read is not what is there now. */
  private async subscribe(args: ExecutionArgs): Promise<AsyncIterableIterator<ExecutionResult> | ExecutionResult> {
    const { actor } = args.contextValue as GraphqlContext
    const stream = await createSourceEventStream(args)
    if (!(Symbol.asyncIterator in stream)) return stream
    this.opened++
    return expanded(stream as AsyncIterableIterator<unknown>, async (payload) => [
      await execute({ ...args, rootValue: payload, contextValue: this.contextOf(actor) }),
    ])
  }

  private contextOf(actor: Actor): GraphqlContext {
    return { actor, loaders: this.loaders.create() }
  }

  private told(error: GraphQLError) {
    return toldError(error.toJSON(), error, this.options.log)
  }
}
