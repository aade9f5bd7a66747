import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { GraphQLSchemaHost } from '@nestjs/graphql'
import { GqlParamtype } from '@nestjs/graphql/dist/enums/gql-paramtype.enum.js'
import { PARAM_ARGS_METADATA, RESOLVER_PROPERTY_METADATA } from '@nestjs/graphql/dist/graphql.constants.js'
import {
  getNamedType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  isEnumType,
  lexicographicSortSchema,
  printSchema,
} from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { abilityOf } from '../../src/api/auth/ability.js'
import { printedSchema } from '../../src/api/printed-schema.js'
import { resolvers } from '../../src/api/resolvers.js'
import { startApi, type ApiUnderTest } from './api-under-test.js'

let api: ApiUnderTest
beforeAll(async () => void (api = await startApi()))
afterAll(() => api?.stop())

const running = () => api.app.get(GraphQLSchemaHost).schema

describe('the schema', () => {
  it('committed file -> what the classes say (npm run schema rewrites it)', async () => {
    expect(readFileSync(join(import.meta.dirname, '../../schema.graphql'), 'utf8')).toBe(await printedSchema())
  })

  it('running API -> the same schema as the printed one', async () => {
    const body = (await printedSchema()).replace(/^#.*\n\n/, '').trim()
    expect(printSchema(lexicographicSortSchema(running())).trim()).toBe(body)
  })

  it('every operation -> is in the table of abilities, and the table names nothing else', () => {
    const named = (fields: object | undefined) => Object.keys(fields ?? {}).sort()
    expect(Object.keys(abilityOf.Query).sort()).toEqual(named(running().getQueryType()?.getFields()))
    expect(Object.keys(abilityOf.Mutation).sort()).toEqual(named(running().getMutationType()?.getFields()))
    expect(Object.keys(abilityOf.Subscription).sort()).toEqual(named(running().getSubscriptionType()?.getFields()))
  })

  it('every type, field, argument and enum value -> has a description', () => {
    const bare: string[] = []
    for (const type of Object.values(running().getTypeMap())) {
      if (type.name.startsWith('__')) continue
      const root = ['Query', 'Mutation', 'Subscription'].includes(type.name)
      if (!type.description && !root) bare.push(type.name)
      if (isObjectType(type) || isInterfaceType(type) || isInputObjectType(type)) {
        for (const field of Object.values(type.getFields())) {
          if (!field.description) bare.push(`${type.name}.${field.name}`)
          if ('args' in field)
            for (const arg of field.args) if (!arg.description) bare.push(`${type.name}.${field.name}(${arg.name})`)
        }
      }
      if (isEnumType(type)) for (const value of type.getValues()) if (!value.description) bare.push(`${type.name}.${value.name}`)
    }
    expect(bare).toEqual([])
  })

  it('every mutation -> answers with userErrors that have field, message and code', () => {
    const wrong = Object.values(running().getMutationType()?.getFields() ?? {}).filter((m) => {
      const payload = getNamedType(m.type)
      const errors = isObjectType(payload) ? payload.getFields()['userErrors'] : undefined
      const error = errors && getNamedType(errors.type)
      const fields = isObjectType(error) ? Object.keys(error.getFields()) : []
      return !String(m.type).endsWith('Payload!') || !['field', 'message', 'code'].every((f) => fields.includes(f))
    })
    expect(wrong.map((m) => m.name)).toEqual([])
  })

  it('a field without arguments -> Nest calls its resolver as it is: wrapped, a page of a hundred would cost a fifth more', () => {
    const fields = resolvers.flatMap((resolver) =>
      Object.entries(Object.getOwnPropertyDescriptors<object>(resolver.prototype))
        .filter(([, { value }]) => typeof value === 'function' && Reflect.hasMetadata(RESOLVER_PROPERTY_METADATA, value))
        .map(([name]) => ({ name, decorated: Object.keys(Reflect.getMetadata(PARAM_ARGS_METADATA, resolver, name) ?? {}) })),
    )
    expect(fields.map((f) => f.name)).toContain('conditions')
    const takesArguments = (key: string) => key.startsWith(`${GqlParamtype.ARGS}:`)
    const wrapped = fields.filter((f) => f.decorated.length > 0 && !f.decorated.some(takesArguments))
    expect(wrapped.map((f) => f.name)).toEqual([])
  })
})
