import { Writable } from 'node:stream'
import { setImmediate as settled } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { label } from '../reconcile/labels.js'
import { serveExec } from './exec-calls.js'
import { noLog } from './testing/no-log.js'

/** A command whose engine answers a change of size when the test says so; `heard` is what has reached it, in order. */
function serve() {
  const heard: string[] = []
  const taken: unknown[] = []
  const sizes: PromiseWithResolvers<void>[] = []
  const ended = Promise.withResolvers<number | null>()
  let input: (value: unknown) => void = () => undefined
  const exec = {
    stdin: new Writable({
      write: (bytes: Buffer, _encoding, done) => {
        heard.push(bytes.toString())
        done()
      },
      final: (done) => {
        heard.push('end')
        done()
      },
    }),
    output: () => ended.promise,
    resize: async (columns: number, rows: number) => {
      const asked = Promise.withResolvers<void>()
      sizes.push(asked)
      await asked.promise
      heard.push(`${columns}x${rows}`)
    },
    pid: async () => null,
    detach: () => undefined,
  }
  const engine = {
    inspect: async () => ({ id: 'c', labels: { [label.instance]: 'e1', [label.resource]: 'app_a' } }) as never,
    openExec: async () => exec,
  }
  const params = {
    resource: 'app_a',
    release: 1,
    replica: 0,
    command: ['sh'],
    tty: true,
    user: null,
    workingDir: null,
    window: 4,
  }
  const done = serveExec('e1', engine, noLog)('exec', params, {
    chunk: (value) => void taken.push(value),
    onInput: (listener) => (input = listener),
    signal: new AbortController().signal,
  })
  const type = (text: string) => input({ stdin: Buffer.from(text).toString('base64') })
  return { heard, taken, sizes, done, type, input: (value: unknown) => input(value), exit: ended.resolve }
}

describe('serveExec', () => {
  it('what was typed after a new size -> reaches the command when the terminal has that size', async () => {
    const { heard, taken, sizes, type, input } = serve()
    await settled()
    type('a')
    input({ columns: 132, rows: 43 })
    type('b')
    input({ end: true })
    await settled()
    expect(heard).toEqual(['a'])
    expect(taken).toEqual([{ taken: 1 }])
    sizes[0]?.resolve()
    await settled()
    expect(heard).toEqual(['a', '132x43', 'b', 'end'])
  })

  it('several sizes -> the last one that was sent is the one that stays', async () => {
    const { heard, sizes, input } = serve()
    await settled()
    input({ columns: 80, rows: 24 })
    input({ columns: 132, rows: 43 })
    await settled()
    sizes[1]?.resolve()
    sizes[0]?.resolve()
    await settled()
    sizes[1]?.resolve()
    await settled()
    expect(heard).toEqual(['80x24', '132x43'])
  })

  it('a size that the engine refuses -> what was typed goes on', async () => {
    const { heard, sizes, type, input, exit, done } = serve()
    await settled()
    input({ columns: 132, rows: 43 })
    type('b')
    await settled()
    sizes[0]?.reject(new Error('it has just ended'))
    await settled()
    expect(heard).toEqual(['b'])
    exit(0)
    expect(await done).toEqual({ exitCode: 0 })
  })
})
