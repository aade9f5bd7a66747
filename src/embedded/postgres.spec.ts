import { describe, expect, it } from 'vitest'
import { requireSameMajor, withDatabase } from './postgres.js'
import { parseMajor } from './postgres-programs.js'

describe('parseMajor', () => {
  it.each([
    ['postgres (PostgreSQL) 18.4\n', '18'],
    ['postgres (PostgreSQL) 19beta1\n', '19'],
  ])('%j -> %s', (output, major) => expect(parseMajor(output)).toBe(major))

  it('something else -> refused', () => expect(() => parseMajor('cockroach 1')).toThrow('cockroach'))
})

describe('requireSameMajor', () => {
  it('same -> nothing', () => requireSameMajor('18', '18', '/data'))

  it('another -> says which made it, which is here, and what to do', () => {
    expect(() => requireSameMajor('17', '18', '/data')).toThrow(/\/data was made by PostgreSQL 17.*brings 18.*Back it up/)
  })
})

describe('withDatabase', () => {
  it('keeps user, password and port', () => {
    expect(withDatabase('postgresql://u:p%40@127.0.0.1:5433/a', 'b c')).toBe('postgresql://u:p%40@127.0.0.1:5433/b%20c')
  })
})
