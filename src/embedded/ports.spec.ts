import { createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { choosable, freePort, listeningInodes, portHolder, requireFreePort } from './ports.js'

describe('listeningInodes', () => {
  const table = [
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
    '   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1 0 100 0 0 10 0',
    '   1: 0100007F:1F90 0100007F:D431 01 00000000:00000000 00:00000000 00000000     0        0 222 1 0 20 4 30 10 -1',
    '   2: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 333 1 0 100 0 0 10 0',
  ].join('\n')

  it('listening socket of that port -> its inode; connections and other ports -> not', () => {
    expect(listeningInodes(table, 8080)).toEqual(['111'])
  })

  it('nobody listens -> nothing', () => {
    expect(listeningInodes(table, 1)).toEqual([])
  })
})

describe('freePort', () => {
  it.each([
    ['as Linux has it', '32768\t60999\n', [10_000, 32_767]],
    ['begins early', '15000 65535', [10_000, 14_999]],
    ['begins too early, ends early', '1024 40000', [40_001, 65_535]],
    ['everything', '1024 65535', [10_000, 65_535]],
  ])('the kernel gives ports out of: %s -> not one of those, where it can be', (_, range, expected) => {
    expect(choosable(range)).toEqual(expected)
  })

  it('one that somebody listens on -> not that', async () => {
    const kernelRange = '1024 64534'
    const [first, last] = choosable(kernelRange)
    const servers = await Promise.all(
      Array.from({ length: last - first }, (_, i) => first + i).map(async (port) => {
        const server = createServer()
        await new Promise<void>((resolve) => server.once('error', () => resolve()).listen(port, '127.0.0.1', resolve))
        return server
      }),
    )
    try {
      expect(await freePort(kernelRange)).toBe(last)
    } finally {
      for (const server of servers) server.close()
    }
  })

  it('many at once -> all different', async () => {
    const ports = await Promise.all(Array.from({ length: 300 }, () => freePort()))
    expect(new Set(ports).size).toBe(300)
  })
})

describe('requireFreePort', () => {
  it('free -> nothing', async () => {
    await requireFreePort(await freePort(), 'the API', 'EVENKEEL_API_PORT')
  })

  it('taken -> the holder, the purpose and the setting', async () => {
    const server = createServer()
    const port = await freePort()
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    try {
      expect(portHolder(port)?.pid).toBe(process.pid)
      await expect(requireFreePort(port, 'the API', 'EVENKEEL_API_PORT')).rejects.toThrow(
        new RegExp(`^Port ${port} for the API is taken by process ${process.pid} .*EVENKEEL_API_PORT`),
      )
    } finally {
      server.close()
    }
  })
})
