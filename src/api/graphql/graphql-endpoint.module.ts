import type { ApolloServerPlugin } from '@apollo/server'
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo'
import { Global, Module } from '@nestjs/common'
import { GraphQLModule, type BuildSchemaOptions } from '@nestjs/graphql'
import type { IncomingMessage } from 'node:http'
import { API_OPTIONS, type ApiOptions } from '../api.options.js'
import { AuthModule } from '../auth/auth.module.js'
import { Authenticator, tooMany } from '../auth/authenticator.service.js'
import { RateLimiter } from '../limits/rate-limiter.js'
import { parsedTokensMost, refuseHeavy } from '../limits/operation-weight.js'
import type { GraphqlContext } from './context.js'
import { LoaderFactory } from './loaders.js'
import { toldError } from './told-error.js'

/** How the schema is made from the classes; the same for the server and for the committed schema.graphql. */
export const schemaOptions: BuildSchemaOptions = { dateScalarMode: 'isoDate' }

@Global()
@Module({ providers: [LoaderFactory], exports: [LoaderFactory] })
export class LoaderModule {}

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
      imports: [AuthModule, LoaderModule],
      inject: [API_OPTIONS, Authenticator, LoaderFactory],
      useFactory: (options: ApiOptions, authenticator: Authenticator, loaders: LoaderFactory): ApolloDriverConfig => {
        const { operationsPerSecond, operationsBurst } = options.limits
        const rate = new RateLimiter(operationsPerSecond, operationsBurst, options.clock)
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
          plugins: [refusingHeavy(options)],
          formatError: (formatted, error) => toldError(formatted, error, options.log),
          context: async ({ req }: { req: IncomingMessage }): Promise<GraphqlContext> => {
            const actor = await authenticator.authenticate(req.headers.authorization, req.socket.remoteAddress ?? '')
            if (!rate.take(actor.tokenId)) throw tooMany('too many operations with this token: slow down')
            return { actor, loaders: loaders.create() }
          },
        }
      },
    }),
  ],
})
export class GraphqlEndpointModule {}
