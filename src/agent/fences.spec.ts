import { appendFileSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { FenceJournal } from './fences.js'

describe('FenceJournal', () => {
  let path: string
  beforeEach(() => (path = join(mkdtempSync(join(tmpdir(), 'fences-')), 'state', 'fences.log')))
  const fence = (pass: number, until = 100_000, key = 'ensure:1:0') => ({ resource: 'app_a', key, pass, until })

  it('an older pass after a newer -> refused; the same pass again -> admitted', () => {
    const journal = FenceJournal.open(path, 0)
    expect(journal.admit(fence(5), 0)).toBe(true)
    expect(journal.admit(fence(5), 0)).toBe(true)
    expect(journal.admit(fence(4), 0)).toBe(false)
    expect(journal.admit(fence(6), 0)).toBe(true)
    expect(journal.admit(fence(5), 0)).toBe(false)
  })

  it('another key or resource -> fences of their own', () => {
    const journal = FenceJournal.open(path, 0)
    journal.admit(fence(5), 0)
    expect(journal.admit(fence(1, 100_000, 'ensure:1:1'), 0)).toBe(true)
    expect(journal.admit({ ...fence(1), resource: 'app_b' }, 0)).toBe(true)
  })

  it('opened again after kill -9, with a torn last line -> still refused', () => {
    FenceJournal.open(path, 0).admit(fence(5), 0)
    appendFileSync(path, '{"resource":"app_a","key":"ens')
    expect(FenceJournal.open(path, 0).admit(fence(4), 0)).toBe(false)
  })

  it('every action that a fence could stop has expired -> a control plane restored from a backup may count anew', () => {
    const journal = FenceJournal.open(path, 0)
    journal.admit(fence(500, 100_000), 0)
    expect(journal.admit(fence(3, 900_000), 150_000)).toBe(false)
    expect(journal.admit(fence(3, 900_000), 161_000)).toBe(true)
    expect(journal.admit(fence(2, 900_000), 161_000)).toBe(false)
  })

  it('thousands of keys over time -> the file is compacted to those that still count', () => {
    const journal = FenceJournal.open(path, 0)
    for (let i = 0; i < 3_000; i++) journal.admit(fence(i, i * 1_000, `ensure:${i}:0`), i * 1_000)
    const lines = readFileSync(path, 'utf8').trim().split('\n').length
    expect(lines).toBeLessThan(1_200)
    expect(FenceJournal.open(path, 2_999_000).admit(fence(1, 3_000_000, 'ensure:2999:0'), 2_999_000)).toBe(false)
  })
})
