import { describe, expect, it } from 'vitest'
import { awayPollMs } from './away-poll.js'

const away = (unreachable: 'AgentSilent' | 'NodeAway' | 'DockerUnreachable') => ({ node: 'node_1', unreachable, message: '' })

describe('awayPollMs', () => {
  it.each(['AgentSilent', 'NodeAway'] as const)('%s -> ten seconds', (unreachable) =>
    expect(awayPollMs(away(unreachable), 'app_a')).toBe(10_000),
  )

  it('two hundred resources whose engine is away -> each between 30 and 45 s, spread, and always the same', () => {
    const ids = Array.from({ length: 200 }, (_, i) => `app_${i}`)
    const polls = ids.map((id) => awayPollMs(away('DockerUnreachable'), id))
    expect(Math.min(...polls)).toBeGreaterThanOrEqual(30_000)
    expect(Math.max(...polls)).toBeLessThan(45_000)
    const inEachThird = [0, 1, 2].map((third) => polls.filter((ms) => Math.floor((ms - 30_000) / 5_000) === third).length)
    expect(Math.min(...inEachThird)).toBeGreaterThan(40)
    expect(ids.map((id) => awayPollMs(away('DockerUnreachable'), id))).toEqual(polls)
  })
})
