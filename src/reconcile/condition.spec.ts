import { describe, expect, it } from 'vitest'
import { mergeCondition, type Condition, type ConditionDraft } from './condition.js'

const draft: ConditionDraft = { type: 'Ready', status: 'True', reason: 'Running', message: '1 of 1' }
const previous: Condition = { ...draft, observedGeneration: 3, lastTransitionAt: 100 }

describe('mergeCondition', () => {
  it.each([
    { it: 'never seen -> transition', previous: undefined, draft, generation: 1, transitioned: true, changed: true, at: 900 },
    { it: 'same -> nothing changes', previous, draft, generation: 3, transitioned: false, changed: false, at: 100 },
    { it: 'status changed -> transition time moves', previous, draft: { ...draft, status: 'False' as const }, generation: 3, transitioned: true, changed: true, at: 900 },
    { it: 'True to Unknown -> transition too', previous, draft: { ...draft, status: 'Unknown' as const }, generation: 3, transitioned: true, changed: true, at: 900 },
    { it: 'reason changed -> written, time stays', previous, draft: { ...draft, reason: 'ScaledToZero' }, generation: 3, transitioned: false, changed: true, at: 100 },
    { it: 'message changed -> written, time stays', previous, draft: { ...draft, message: '2 of 2' }, generation: 3, transitioned: false, changed: true, at: 100 },
    { it: 'newer generation -> written, time stays', previous, draft, generation: 4, transitioned: false, changed: true, at: 100 },
  ])('$it', ({ previous, draft, generation, transitioned, changed, at }) => {
    expect(mergeCondition(previous, draft, generation, 900)).toEqual({
      condition: { ...draft, observedGeneration: generation, lastTransitionAt: at },
      transitioned,
      changed,
    })
  })
})
