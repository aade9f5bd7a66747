import { appendFileSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { KnownResources } from './known-resources.js'

describe('KnownResources', () => {
  let path: string
  beforeEach(() => (path = join(mkdtempSync(join(tmpdir(), 'known-')), 'sub', 'resources')))

  const a = { kind: 'application', resource: 'app_a' }
  const b = { kind: 'nginxdemo', resource: 'demo_b' }

  it('all containers of a resource vanish between two agents -> the next one tells', () => {
    new KnownResources(path).replace([a, b])
    expect(new KnownResources(path).replace([b])).toEqual([a])
    expect(new KnownResources(path).replace([b])).toEqual([])
  })

  it('an agent dies before its next full list -> what events told is kept', () => {
    new KnownResources(path).add(a)
    expect(new KnownResources(path).replace([])).toEqual([a])
  })

  it('the last line is torn -> ignored', () => {
    new KnownResources(path).add(a)
    appendFileSync(path, 'nginxdemo demo_')
    expect(new KnownResources(path).replace([])).toEqual([a])
  })
})
