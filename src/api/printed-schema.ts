import { NestFactory } from '@nestjs/core'
import { GraphQLSchemaBuilderModule, GraphQLSchemaFactory } from '@nestjs/graphql'
import { lexicographicSortSchema, printSchema } from 'graphql'
import { schemaOptions } from './graphql/schema-options.js'
import { resolvers } from './resolvers.js'

const header = `# Written by \`npm run schema\` from the classes in src/api. Do not edit.\n\n`

/** The schema as it is committed; needs no database and starts nothing. */
export async function printedSchema(): Promise<string> {
  const app = await NestFactory.createApplicationContext(GraphQLSchemaBuilderModule, { logger: false })
  const schema = await app.get(GraphQLSchemaFactory).create(resolvers, schemaOptions)
  await app.close()
  return `${header}${printSchema(lexicographicSortSchema(schema))}\n`
}
