import { setImmediate as settled } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { PeerCalls, type CallFrame, type ServedCall } from './peer-calls.js'

/** Two sides of one channel. `full`: the serving side's next chunks find no room. */
function sides(serve: (call: ServedCall) => Promise<unknown>) {
  const frames: CallFrame[] = []
  const world = { full: false, frames }
  const client: PeerCalls = new PeerCalls(
    (frame) => (queueMicrotask(() => server.take(frame)), true),
    () => Promise.reject(new Error('it serves nothing')),
  )
  const server: PeerCalls = new PeerCalls(
    (frame) => {
      if (frame.type === 'chunk' && world.full) return false
      frames.push(frame)
      queueMicrotask(() => client.take(frame))
      return true
    },
    (_method, _params, call) => serve(call),
  )
  return { world, client, server }
}

describe('PeerCalls', () => {
  it('a call -> its chunks in their order, then its value', async () => {
    const { client } = sides(async (call) => {
      call.chunk(1)
      call.chunk(2)
      return 'value'
    })
    const heard: unknown[] = []
    expect(await client.call('m', {}, (value) => heard.push(value)).done).toBe('value')
    expect(heard).toEqual([1, 2])
  })

  it('a reader that is too slow -> its call fails, and does not end as if that were all', async () => {
    const { client, world } = sides(async (call) => {
      call.chunk(1)
      world.full = true
      call.chunk(2)
      world.full = false
      call.chunk(3)
      return 'value'
    })
    const heard: unknown[] = []
    const { done } = client.call('m', {}, (value) => heard.push(value))
    await expect(done).rejects.toMatchObject({ reason: 'CutOff', message: 'its reader is too slow' })
    expect(heard).toEqual([1])
  })

  it('cancelled -> what is served hears it, and the caller is told at once', async () => {
    let aborted = false
    const { client } = sides(
      (call) =>
        new Promise((resolve) =>
          call.signal.addEventListener('abort', () => {
            aborted = true
            resolve('late')
          }),
        ),
    )
    const call = client.call('m', {})
    await settled()
    call.cancel()
    await expect(call.done).rejects.toMatchObject({ reason: 'Cancelled' })
    await settled()
    expect(aborted).toBe(true)
  })

  it('input before its method listens -> heard when it does; too much of it -> the call fails', async () => {
    const begins = Promise.withResolvers<void>()
    const heard: unknown[] = []
    const { client } = sides(async (call) => {
      await begins.promise
      call.onInput((value) => heard.push(value))
    })
    const one = client.call('m', {})
    const two = client.call('m', {})
    one.input('early')
    for (let n = 0; n < 300; n++) two.input(n)
    await settled()
    begins.resolve()
    await one.done
    await expect(two.done).rejects.toMatchObject({ reason: 'CutOff' })
    expect(heard[0]).toBe('early')
  })

  it('a broken channel -> both sides end', async () => {
    let reason: unknown
    const { client, server } = sides(
      (call) => new Promise(() => call.signal.addEventListener('abort', () => (reason = call.signal.reason))),
    )
    const { done } = client.call('m', {})
    await settled()
    client.broken('closed')
    server.broken('closed')
    await expect(done).rejects.toMatchObject({ reason: 'ApiUnreachable', message: 'closed' })
    expect(reason).toMatchObject({ message: 'closed' })
  })
})
