import { describe, expect, it } from 'vitest'
import { belongsTo, containerName, label, ownerOf, reservedLabelPrefix } from './labels.js'
import { containerOf, endpointOf, instance, releaseOf, resourceId, specOf } from './testing/application-world.js'
import { actionOf, passOf } from './testing/pass.js'

const owner = { instance: 'i1', kind: 'application', resource: 'app_web' }
const ours = { 'evenkeel.instance': 'i1', 'evenkeel.kind': 'application', 'evenkeel.resource': 'app_web' }

describe('belongsTo', () => {
  it.each([
    { it: 'all three -> ours', labels: ours, expected: true },
    { it: 'more labels -> ours', labels: { ...ours, team: 'shop' }, expected: true },
    { it: 'no labels -> not ours', labels: undefined, expected: false },
    { it: 'another instance -> not ours', labels: { ...ours, 'evenkeel.instance': 'i2' }, expected: false },
    { it: 'a resource with the same beginning -> not ours', labels: { ...ours, 'evenkeel.resource': 'app_web-worker' }, expected: false },
    { it: 'another kind -> not ours', labels: { ...ours, 'evenkeel.kind': 'database' }, expected: false },
    { it: 'an empty instance -> not ours', labels: { ...ours, 'evenkeel.instance': '' }, expected: false },
  ])('$it', ({ labels, expected }) => expect(belongsTo(labels, owner)).toBe(expected))
})

describe('containerName', () => {
  it('identity -> its golden name, because the name is the mutex', () => {
    expect(containerName('i1', 'app_web', 12, 3)).toBe('ek-i1-app_web-12-3')
  })
  it('release 1 replica 11 and release 11 replica 1 -> different names', () => {
    expect(containerName('i1', 'app_web', 1, 11)).not.toBe(containerName('i1', 'app_web', 11, 1))
  })
  it('any identity -> a name that Docker accepts', () => {
    expect(containerName('i1', 'app_web', 12, 3)).toMatch(/^[a-zA-Z0-9][a-zA-Z0-9_.-]+$/)
  })
})

describe('ownerOf', () => {
  it('a planned container -> its owner, and belongsTo agrees', () => {
    const pass = passOf({ releases: [releaseOf(1, specOf())], endpoints: [endpointOf(1, 0, 'starting')] })
    const { container } = actionOf(pass, 'ensure:1:0', 'ensureContainer').args
    expect(ownerOf(container)).toEqual({ instance, kind: 'application', resource: resourceId })
    expect(belongsTo(container.labels, ownerOf(container))).toBe(true)
    expect(container.name).toBe(containerOf(releaseOf(1, specOf()), 0).name)
  })
})

describe('label', () => {
  it('every label -> lies below the prefix that people may not use', () => {
    expect(Object.values(label).filter((l) => !l.startsWith(reservedLabelPrefix))).toEqual([])
  })
})
