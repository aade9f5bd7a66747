import { describe, expect, it } from 'vitest'
import type { EngineContainer } from '../adapters/docker/engine.js'
import { label } from '../reconcile/labels.js'
import { requireOwn } from './ownership.js'

const owner = { instance: 'i', kind: 'application', resource: 'app_a' }
const held = (labels: Record<string, string>) => ({ id: 'c0123456789abcdef', name: 'ek-1', labels }) as unknown as EngineContainer
const own = { [label.instance]: 'i', [label.kind]: 'application', [label.resource]: 'app_a' }

describe('requireOwn', () => {
  it('our own -> nothing', () => expect(() => requireOwn(held(own), owner)).not.toThrow())

  it.each([
    ['which is not from Evenkeel', {}],
    ['which belongs to another Evenkeel instance (j)', { ...own, [label.instance]: 'j' }],
    ['which belongs to application app_b', { ...own, [label.resource]: 'app_b' }],
  ])('%s -> a failure that is tried again, and says what to remove', (whose, labels) => {
    const message = `the name ek-1 is held by container c0123456789a, ${whose}: remove or rename that container`
    expect(() => requireOwn(held(labels), owner)).toThrow(
      expect.objectContaining({ reason: 'NameTaken', retryable: true, message }),
    )
  })
})
