import { describe, expect, it } from 'vitest'
import { databaseName, serverArguments } from './temporal.js'

describe('serverArguments', () => {
  const args = serverArguments(
    {
      binary: 'temporal',
      stateDir: '/state',
      grpcPort: 7233,
      uiPort: 8233,
      log: () => {},
      dynamicConfig: { 'limit.historySize.error': 1000, 'system.name': 'a b' },
    },
    '/state/temporal-1.32.0.sqlite',
  )
  const valueOf = (flag: string) => args[args.indexOf(flag) + 1]

  it('server and UI -> on the loopback address only', () => {
    expect(valueOf('--ip')).toBe('127.0.0.1')
    expect(valueOf('--ui-ip')).toBe('127.0.0.1')
  })

  it('its file -> with a write-ahead log', () => {
    expect(args.filter((_, i) => args[i - 1] === '--sqlite-pragma')).toEqual(['journal_mode=WAL', 'synchronous=NORMAL'])
  })

  it('dynamic configuration -> one flag each, values as JSON', () => {
    expect(args.filter((_, i) => args[i - 1] === '--dynamic-config-value')).toEqual([
      'limit.historySize.error=1000',
      'system.name="a b"',
    ])
  })
})

describe('databaseName', () => {
  it('another server version -> another file', () => {
    expect(databaseName('1.32.0')).not.toBe(databaseName('1.33.0'))
  })
})
