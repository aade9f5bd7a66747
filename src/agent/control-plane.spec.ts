import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { ControlPlane } from './control-plane.js'
import { CallFailure } from './peer-calls.js'

const never = new AbortController().signal
const over = (answer: unknown) =>
  new ControlPlane({ call: () => (answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer)) })
const refs = [
  { secret: 'a', version: 1 },
  { secret: 'b', version: 2 },
]
const failure = (reason: string) => expect.objectContaining({ name: 'ActionFailure', reason, retryable: true })

describe('ControlPlane', () => {
  it('values in the order of what was asked -> by name and version', async () => {
    expect(await over({ values: ['x', ''] }).values('app_a', refs, never)).toEqual(
      new Map([
        ['a@1', 'x'],
        ['b@2', ''],
      ]),
    )
  })

  it('fewer than asked, or refused -> RequiredSecretMissing', async () => {
    await expect(over({ values: ['x'] }).values('app_a', refs, never)).rejects.toEqual(failure('RequiredSecretMissing'))
    const refused = over(new CallFailure('RequiredSecretMissing', 'there is no b@2'))
    await expect(refused.values('app_a', refs, never)).rejects.toEqual(failure('RequiredSecretMissing'))
    await expect(refused.credential('app_a', 'c', never)).rejects.toEqual(failure('CredentialMissing'))
  })

  it('the API fails inside -> ApiUnreachable: nobody said that the secret is not there', async () => {
    const failed = over(new CallFailure('CallFailed', 'secretValues failed inside the API'))
    await expect(failed.values('app_a', refs, never)).rejects.toEqual(failure('ApiUnreachable'))
  })

  it('no channel -> ApiUnreachable, whatever was asked', async () => {
    const away = over(new CallFailure('ApiUnreachable', 'closed'))
    await expect(away.values('app_a', refs, never)).rejects.toEqual(failure('ApiUnreachable'))
    await expect(away.credential('app_a', 'c', never)).rejects.toEqual(failure('ApiUnreachable'))
    await expect(away.put(Buffer.from('x'), never)).rejects.toEqual(failure('ApiUnreachable'))
  })

  it('an answer of another shape -> said without quoting it', async () => {
    const odd = over({ values: [{ hidden: 'hunter2' }] }).values('app_a', refs, never)
    await expect(odd).rejects.toEqual(failure('AgentError'))
    await expect(odd).rejects.not.toThrow(/hunter2/)
  })

  it('an artifact -> its hash, as long as the API has the same one', async () => {
    const sha256 = createHash('sha256').update('log').digest('hex')
    expect(await over({ sha256 }).put(Buffer.from('log'), never)).toBe(sha256)
    await expect(over({ sha256 }).put(Buffer.from('lag'), never)).rejects.toEqual(failure('AgentError'))
  })

  it('cancelled -> the reason of that', async () => {
    const cancel = new AbortController()
    const waiting = new ControlPlane({ call: () => new Promise(() => undefined) }).values('app_a', refs, cancel.signal)
    cancel.abort(new Error('superseded'))
    await expect(waiting).rejects.toThrow('superseded')
  })
})
