import { describe, expect, it } from 'vitest'
import type { ExecResult } from '../adapters/docker/node-engine.js'
import { ExecProbes } from './exec-probe.js'

const probe = { kind: 'exec' as const, command: ['/check'], intervalMs: 1_000, timeoutMs: 500, failureThreshold: 1 }

function over(results: Partial<ExecResult>[], runs: () => boolean = () => false) {
  let asked = 0
  const exec = async () => ({ execId: `e${asked}`, exitCode: 0, output: '', ...results[Math.min(asked++, results.length - 1)] })
  return { probes: new ExecProbes({ exec, execRuns: async () => runs() }), asked: () => asked }
}

describe('ExecProbes', () => {
  it.each([
    [{ exitCode: 0, output: 'fine' }, true, 'the command ended with 0'],
    [{ exitCode: 3, output: '' }, false, 'the command ended with 3'],
    [{ exitCode: 1, output: ' not\r\nready\0yet ' }, false, 'not ready yet'],
    [{ exitCode: 1, output: '😀'.repeat(300) }, false, '😀'.repeat(200)],
    [{ exitCode: null, output: '' }, false, 'the command did not end within 500 ms'],
  ])('%j -> ok %s', async (result, ok, message) => {
    expect(await over([result]).probes.run('c', probe)).toEqual({ ok, message })
  })

  it('one that hangs -> no further one beside it, until it is gone', async () => {
    let runs = true
    const { probes, asked } = over([{ exitCode: null }, { exitCode: 0 }], () => runs)
    await probes.run('c', probe)
    expect(await probes.run('c', probe)).toEqual({ ok: false, message: 'the command of an earlier probe still runs' })
    expect(await probes.run('d', probe)).toMatchObject({ ok: true })
    runs = false
    expect(await probes.run('c', probe)).toMatchObject({ ok: true })
    expect(asked()).toBe(3)
  })
})
