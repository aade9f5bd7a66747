import { describe, expect, it } from 'vitest'
import { forPrisma6, pendingMigrations } from './migrate.js'

describe('pendingMigrations', () => {
  const known = [
    { name: '1_init', checksum: 'a' },
    { name: '2_more', checksum: 'b' },
  ]

  it('empty database -> all, in order', () => {
    expect(pendingMigrations(known, [])).toEqual(['1_init', '2_more'])
  })

  it('first applied -> the second', () => {
    expect(pendingMigrations(known, [{ name: '1_init', checksum: 'a', finished: true }])).toEqual(['2_more'])
  })

  it('all applied -> none', () => {
    const applied = known.map((migration) => ({ ...migration, finished: true }))
    expect(pendingMigrations(known, applied)).toEqual([])
  })

  it.each([
    ['of a newer Evenkeel', { name: '3_new', checksum: 'c', finished: true }, 'written by a newer one'],
    ['changed afterwards', { name: '1_init', checksum: 'x', finished: true }, 'was changed after it was applied'],
    ['stopped half-way', { name: '1_init', checksum: 'a', finished: false }, 'stopped half-way'],
  ])('%s -> refused, by name', (_, applied, reason) => {
    expect(() => pendingMigrations(known, [applied])).toThrow(new RegExp(`${applied.name}.*${reason}`))
  })
})

describe('forPrisma6', () => {
  it('datasource without url -> gets one, models untouched', () => {
    const schema = 'datasource db {\n  provider = "postgresql"\n}\n\nmodel A {\n  id Int @id\n}\n'
    expect(forPrisma6(schema)).toBe(
      'datasource db {\n  url = env("DATABASE_URL")\n  provider = "postgresql"\n}\n\nmodel A {\n  id Int @id\n}\n',
    )
  })

  it('no datasource -> refused', () => expect(() => forPrisma6('model A {}')).toThrow('no datasource'))
})
