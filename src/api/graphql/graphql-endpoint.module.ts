import type { ApolloServerPlugin } from '@apollo/server'
import { ApolloServerPluginCacheControlDisabled } from '@apollo/server/plugin/disabled'
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo'
import { Global, Module } from '@nestjs/common'
import { APP_PIPE } from '@nestjs/core'
import { GraphQLModule } from '@nestjs/graphql'
import type { IncomingMessage } from 'node:http'
import { API_OPTIONS, type ApiOptions } from '../api.options.js'
import { AuthModule } from '../auth/auth.module.js'
import { Authenticator } from '../auth/authenticator.service.js'
import { parsedTokensMost, refuseHeavy } from '../limits/operation-weight.js'
import { MetricsModule } from '../metrics/metrics.module.js'
import { Metrics } from '../metrics/metrics.service.js'
import type { GraphqlContext } from './context.js'
import { schemaOptions } from './schema-options.js'
import { LoaderFactory } from './loaders.js'
import { OperationRate } from './operation-rate.service.js'
import { SubscriptionGateway } from './subscription.gateway.js'
import { TextPipe } from './text.pipe.js'
import { toldError } from './told-error.js'

@Global()
@Module({ providers: [LoaderFactory, OperationRate], exports: [LoaderFactory, OperationRate] })
export class LoaderModule {}

/** Counts operations by their first field: names that callers give would make series without end. */
function counting(metrics: Metrics): ApolloServerPlugin {
  return {
    async requestDidStart() {
      return {
        async willSendResponse({ operation, response }) {
          const { body } = response
          const failed = body.kind === 'single' && (body.singleResult.errors?.length ?? 0) > 0
          // What failed before it was checked against the schema may name anything.
          const checked = !failed || (body.kind === 'single' && body.singleResult.data !== undefined)
          metrics.countOperation(checked ? operation : null, failed ? 'error' : 'ok')
        },
      }
    },
  }
}

function refusingHeavy({ limits }: ApiOptions): ApolloServerPlugin {
  return {
    async requestDidStart() {
      return {
        async didResolveOperation({ schema, document, operation, request }) {
          if (operation) refuseHeavy({ schema, document, operation, variables: request.variables ?? {} }, limits)
        },
      }
    },
  }
}

/** GraphQL over HTTP at /graphql. WebSockets are subscription.gateway.ts's. */
@Module({
  imports: [
    GraphQLModule.forRootAsync<ApolloDriverConfig>({
      driver: ApolloDriver,
      imports: [AuthModule, LoaderModule, MetricsModule],
      inject: [API_OPTIONS, Authenticator, LoaderFactory, OperationRate, Metrics],
      useFactory: (
        options: ApiOptions,
        authenticator: Authenticator,
        loaders: LoaderFactory,
        rate: OperationRate,
        metrics: Metrics,
      ): ApolloDriverConfig => {
        return {
          path: '/graphql',
          autoSchemaFile: true,
          sortSchema: true,
          buildSchemaOptions: schemaOptions,
          inheritResolversFromInterfaces: true,
          graphiql: false,
          introspection: true, // only with a token: the context refuses all others
          includeStacktraceInErrorResponses: false,
          persistedQueries: false,
          parseOptions: { maxTokens: parsedTokensMost },
          // Cache control would look at every single field, of answers that nobody may cache.
          plugins: [refusingHeavy(options), counting(metrics), ApolloServerPluginCacheControlDisabled()],
          formatError: (formatted, error) => toldError(formatted, error, options.log),
          context: async ({ req }: { req: IncomingMessage }): Promise<GraphqlContext> => {
            const actor = await authenticator.authenticate(req.headers.authorization, req.socket.remoteAddress ?? '')
            rate.take(actor)
            return { actor, loaders: loaders.create() }
          },
        }
      },
    }),
  ],
  providers: [SubscriptionGateway, { provide: APP_PIPE, useClass: TextPipe }],
})
export class GraphqlEndpointModule {}
