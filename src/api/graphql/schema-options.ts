import type { BuildSchemaOptions } from '@nestjs/graphql'

/** How the schema is made from the classes; the same for the server and for the committed schema.graphql. */
export const schemaOptions: BuildSchemaOptions = { dateScalarMode: 'isoDate' }
