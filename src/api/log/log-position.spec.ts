import { describe, expect, it } from 'vitest'
import { decodePosition, encodePosition, lineTime, nothingRead, sinceOf, type LogPosition } from './log-position.js'

const at = (second: number, nano = '000000001') => `2026-01-01T00:00:${String(second).padStart(2, '0')}.${nano}Z`
const position = (stdout: string, stderr: string) => ({ stdout: { at: stdout, count: 1 }, stderr: { at: stderr, count: 0 } })

describe('encodePosition, decodePosition', () => {
  const full: LogPosition = { from: at(1), replicas: new Map([['3.0', position(at(2), '')]]) }

  it('a position -> the same again', () => expect(decodePosition('app_a', encodePosition('app_a', full))).toEqual(full))

  it.each([
    ['nothing', ''],
    ['another application', encodePosition('app_b', full)],
    ['no JSON', 'xxxx'],
    ['a large one', 'a'.repeat(100_000)],
    ['another list', Buffer.from('"12"').toString('base64url')],
  ])('%s -> refused', (_what, cursor) => expect(() => decodePosition('app_a', cursor)).toThrow(/after/))
})

describe('sinceOf', () => {
  it.each([
    ['nothing read', nothingRead(null), null],
    ['the same moment', position(at(9), at(9)), '1767225609.000000001'],
    ['the older one of both', position(at(9), at(8, '5'.padEnd(9, '0'))), '1767225608.500000000'],
    ['one that is long silent, or has never said anything -> two seconds', position(at(9), at(1)), '1767225607.000000001'],
    ['', position(at(9), ''), '1767225607.000000001'],
    ['what is no time', position('garbage', ''), null],
  ])('%s', (_what, given, since) => expect(sinceOf(given)).toBe(since))
})

it('lineTime -> compares with the times of lines', () =>
  expect(lineTime(new Date('2026-01-01T00:00:09.250Z'))).toBe('2026-01-01T00:00:09.250000000Z'))
