import { setTimeout as sleep } from 'node:timers/promises'
import type { Platform } from '../platform.js'
import { joinSimulatedNode } from '../simulated-fleet.js'
import { percentile, rounded } from '../statistics.js'
import { createOn } from './idle.js'

const count = 1_000
const lanes = 20
const mutations = 2_000
const lists = 300
const lookMs = 3_000

/**
 * What the API costs with 1,000 applications: changes by 20 clients at once, then pages of 100 by one.
 *
 * The applications are on a simulated node and have no replicas, then they are paused: what is measured is the API with
 * its database and the nudge of each change, and not the fleet, which `scale` measures. On a node that does not exist
 * they would not be admitted, and loops that wait for one look again and again.
 */
export async function api(platform: Platform) {
  const node = await joinSimulatedNode(platform)
  try {
    const projectId = await platform.createProject()
    const began = performance.now()
    await createOn(platform, projectId, node, count, { replicas: 0 })
    const creating = performance.now() - began
    while (!(await platform.settled(projectId))) await sleep(1_000)
    const ids = (await platform.applications(projectId)).map((a) => a.id)
    await inLanes(ids, (id) => platform.query('mutation($id: ID!) { resourcePause(id: $id) { userErrors { message } } }', { id }))
    await untilCalm(platform, projectId)

    const changes = Array.from({ length: mutations }, (_, n) => ({
      id: ids[n % ids.length],
      drainSeconds: 1 + Math.floor(n / ids.length),
    }))
    const changing = await inLanes(changes, (change) => platform.query(update, change))
    await untilCalm(platform, projectId)
    const listing = await inLanes(Array.from({ length: lists }), pages(platform, projectId), 1)
    const result = {
      mutations_per_second: rounded(mutations / (changing.ms / 1_000), 0),
      p99_ms: rounded(percentile(changing.each, 99), 1),
      list_100_p99_ms: rounded(percentile(listing.each, 99), 1),
      p50_ms: rounded(percentile(changing.each, 50), 1),
      list_100_p50_ms: rounded(percentile(listing.each, 50), 1),
      creates_per_second: rounded(count / (creating / 1_000), 0),
    }
    await platform.cleanUp()
    return result
  } finally {
    await node.leave()
  }
}

/** Each change and each pause has a pass that follows it, and what is measured next is not these. */
async function untilCalm(platform: Platform, projectId: string): Promise<void> {
  const count = async () => (await platform.passes(projectId)).reduce((sum, { passes }) => sum + passes, 0)
  for (let before = -1, now = await count(); now !== before; now = await count()) {
    before = now
    await sleep(lookMs)
  }
}

const update = `mutation($id: ID!, $drainSeconds: Int!) {
  applicationUpdate(id: $id, input: { drainSeconds: $drainSeconds }) { application { generation } userErrors { message } } }`

/** What an overview of applications shows. */
const list = `query($projectId: ID!, $after: String) { applications(projectId: $projectId, first: 100, after: $after) {
  nodes {
    id name generation observedGeneration paused deletionRequestedAt spec { image } replicas { desired ready }
    conditions { type status reason message } endpoints { address state } servingRelease { number image }
    releases(first: 1) { nodes { number verdict { reason } } }
  }
  pageInfo { hasNextPage endCursor } } }`

/** Each call reads the next page, and after the last one the first again. */
function pages(platform: Platform, projectId: string) {
  let after: string | null = null
  return async () => {
    const { applications } = await platform.query<{ applications: { pageInfo: { hasNextPage: boolean; endCursor: string } } }>(
      list,
      { projectId, after },
    )
    after = applications.pageInfo.hasNextPage ? applications.pageInfo.endCursor : null
  }
}

/** Runs a call for each item, some at once; how long all took, and each. */
async function inLanes<T>(
  items: readonly T[],
  call: (item: T) => Promise<unknown>,
  width = lanes,
): Promise<{ ms: number; each: number[] }> {
  const each: number[] = []
  const began = performance.now()
  const waiting = items.values()
  const lane = async () => {
    for (const item of waiting) {
      const sent = performance.now()
      await call(item)
      each.push(performance.now() - sent)
    }
  }
  await Promise.all(Array.from({ length: width }, lane))
  return { ms: performance.now() - began, each }
}
