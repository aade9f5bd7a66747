import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import type { EngineNetwork } from '../adapters/docker/engine.js'
import { refuseEngine } from './canary.js'
import { NodeNetwork } from './node-network.js'

describe('NodeNetwork', () => {
  let stateDir: string
  let made: EngineNetwork[]
  let broken: boolean
  let making: () => Promise<void>
  const open = () =>
    new NodeNetwork({
      instance: 'i',
      stateDir,
      engine: {
        ensureNetwork: async (network) => {
          if (broken) throw new Error('engine away')
          made.push(network)
          await making()
        },
      },
      resolvers: ({ gateway }) => [gateway, '9.9.9.9'],
    })
  beforeEach(() => {
    stateDir = mkdtempSync(join(tmpdir(), 'network-'))
    made = []
    broken = false
    making = async () => {}
  })

  it('no subnet yet -> not ready, and time cures it', async () => {
    await expect(open().ensure()).rejects.toMatchObject({ reason: 'NodeNotReady', retryable: true })
  })

  it('a subnet -> made once for many askers, and again after it was found missing', async () => {
    const network = open()
    network.adopt('10.192.16.0/20')
    await Promise.all([network.ensure(), network.ensure()])
    await network.ensure()
    expect(made).toEqual([
      {
        name: 'evenkeel-i',
        subnet: '10.192.16.0/20',
        gateway: '10.192.16.1',
        dynamicRange: '10.192.31.0/24',
        mtu: 1380,
        dns: ['10.192.16.1', '9.9.9.9'],
      },
    ])
    network.forget()
    await network.ensure()
    expect(made.length).toBe(2)
  })

  it('found missing while it is being made -> made again after that, never twice at once', async () => {
    const network = open()
    network.adopt('10.192.16.0/20')
    let running = 0
    let mostAtOnce = 0
    making = async () => {
      mostAtOnce = Math.max(mostAtOnce, ++running)
      await sleep(5)
      running -= 1
    }
    const asked = [network.ensure()]
    await Promise.resolve()
    for (let i = 0; i < 5; i++) {
      network.forget()
      asked.push(network.ensure())
    }
    await Promise.all(asked)
    expect({ mostAtOnce, times: made.length }).toEqual({ mostAtOnce: 1, times: 2 })
  })

  it('one that was forgotten fails late -> the next one stands', async () => {
    const network = open()
    network.adopt('10.192.16.0/20')
    making = async () => {
      making = async () => {}
      await sleep(5)
      throw new Error('engine away')
    }
    const first = expect(network.ensure()).rejects.toThrow('engine away')
    await Promise.resolve()
    network.forget()
    await Promise.all([first, network.ensure()])
    await network.ensure()
    expect(made.length).toBe(2)
  })

  it('a new agent with the API away -> the same subnet from disk', async () => {
    open().adopt('10.192.16.0/20')
    expect((await open().ensure()).subnet).toBe('10.192.16.0/20')
  })

  it('it could not be made -> tried again the next time', async () => {
    const network = open()
    network.adopt('10.192.16.0/20')
    broken = true
    await expect(network.ensure()).rejects.toThrow('engine away')
    broken = false
    await network.ensure()
    expect(made.length).toBe(1)
  })

  it('an engine that cannot be worked with -> nothing is made, with the sentence that says why', async () => {
    const network = open()
    network.adopt('10.192.16.0/20')
    network.refuse('no')
    await expect(network.ensure()).rejects.toMatchObject({ reason: 'UnsupportedEngine', message: 'no', retryable: false })
    network.refuse(null)
    await network.ensure()
  })
})

describe('refuseEngine', () => {
  const engine = { version: '29.1.2', apiVersion: '1.52', architecture: 'amd64', rootless: false, product: 'docker' }
  it.each([
    [{}, null],
    [{ version: '20.10.24+dfsg1' }, null],
    [{ version: '19.03.15' }, /too old/],
    [{ rootless: true }, /rootless/],
    [{ product: 'podman', version: '5.0.0' }, /Podman/],
    [{ product: 'docker-desktop' }, /Docker Desktop/],
  ])('%j -> %s', (change, expected) => {
    const refusal = refuseEngine({ ...engine, ...change })
    if (expected === null) expect(refusal).toBeNull()
    else expect(refusal).toMatch(expected)
  })
})
