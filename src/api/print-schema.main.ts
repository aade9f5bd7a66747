import 'reflect-metadata'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { printedSchema } from './printed-schema.js'

/** Writes schema.graphql into the current folder; run from the repository's root, and diffed in CI. */
writeFileSync(join(process.cwd(), 'schema.graphql'), await printedSchema())
