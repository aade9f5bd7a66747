import { describe, expect, it } from 'vitest'
import { statementNames } from './database.js'

describe('statementNames', () => {
  it('the same text -> the same name, another -> another', () => {
    const nameOf = statementNames()
    const [a, b] = [nameOf('SELECT 1'), nameOf('SELECT 2')]
    expect(a).not.toBe(b)
    expect([nameOf('SELECT 1'), nameOf('SELECT 2')]).toEqual([a, b])
  })

  it('more than are kept -> the later ones have none, the first ones still have theirs', () => {
    const nameOf = statementNames(2)
    const first = nameOf('SELECT 1')
    nameOf('SELECT 2')
    expect([nameOf('SELECT 3'), nameOf('SELECT 1')]).toEqual(['', first])
  })
})
