import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WorkflowNotFoundError } from '@temporalio/client'
import { lastResultQuery, nudgeSignal } from '../../workflows/messages.js'
import { startControlPlane, type ControlPlane } from './control-plane.js'
import { recordHistory } from './stored-histories.js'

let plane: ControlPlane
beforeAll(async () => {
  plane = await startControlPlane()
}, 120_000)
afterAll(() => plane.stop())

/** Waits for what must become true; the test's own time-out is the bound. */
async function until(what: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await what())) await sleep(20)
}

const readyOf = async (id: string) =>
  plane.db.condition.findUnique({ where: { resourceId_type: { resourceId: id, type: 'Ready' } } })

const isReady = async (id: string, generation: number) => {
  const ready = await readyOf(id)
  return ready?.status === 'True' && ready.observedGeneration === generation
}

const workflow = (id: string) => plane.client.workflow.getHandle(`application:${id}`)
const spec = (image: string, replicas = 1) => ({ image, ports: [80], replicas })

async function runsOf(id: string): Promise<number> {
  let runs = 0
  for await (const run of plane.client.workflow.list({ query: `WorkflowId = "application:${id}"` })) if (run.workflowId) runs++
  return runs
}

describe('reconcile', () => {
  it('created -> Ready, in few passes, and the last result can be asked for', async () => {
    await plane.create('app_first', spec('shop/web:1', 2))
    await plane.nudge('app_first')
    await until(() => isReady('app_first', 1))
    const row = await plane.db.resource.findUniqueOrThrow({ where: { id: 'app_first' } })
    expect(row.observedGeneration).toBe(1)
    expect(row.passNumber).toBeLessThanOrEqual(7)
    const last = await workflow('app_first').query(lastResultQuery)
    expect(last).toMatchObject({ generation: 1, error: null })
    expect(last.conditions).toContainEqual(expect.stringMatching(/^Ready True \(Running\)/))
    await recordHistory(plane.server, 'application:app_first', 'first-deploy')
  })

  it('500 nudges at 50 a second, a change with every tenth -> the last generation is applied, over several runs, in few passes', async () => {
    const id = 'app_nudged'
    await plane.create(id, spec('shop/web:0'))
    for (let i = 1; i <= 500; i++) {
      if (i % 10 === 0) await plane.change(id, spec(`shop/web:${i}`))
      // A server that is busy with this very workflow may refuse a nudge; as in the API, the sweep makes up for it.
      await plane.nudge(id).catch(() => undefined)
      await sleep(20)
    }
    await plane.control.sweepPage('')
    await until(() => isReady(id, 51))
    const row = await plane.db.resource.findUniqueOrThrow({ where: { id } })
    expect(row.passNumber).toBeLessThan(550)
    await until(async () => (await runsOf(id)) > 1)
    expect(plane.node.worlds.get(id)?.containers.map((c) => c.imageId)).toContain('shop/web:500')
    expect(plane.node.mostContainers(id)).toBeLessThanOrEqual(3) // the wanted one, a surge, and one that drains
  }, 120_000)

  it('no change -> a nudge costs one pass that starts nothing', async () => {
    const before = await plane.db.resource.findUniqueOrThrow({ where: { id: 'app_first' } })
    const acted = () => plane.node.acted.filter((a) => a.resource === 'app_first').length
    const actedBefore = acted()
    await plane.nudge('app_first')
    await until(async () => (await plane.db.resource.findUniqueOrThrow({ where: { id: 'app_first' } })).passNumber > before.passNumber)
    await sleep(300)
    const after = await plane.db.resource.findUniqueOrThrow({ where: { id: 'app_first' } })
    expect(after.passNumber).toBe(before.passNumber + 1)
    expect(acted()).toBe(actedBefore)
  })

  it('a newer generation while an image is pulled -> the pull is cancelled within seconds, and the newer one runs', async () => {
    const id = 'app_superseded'
    plane.node.absentImages.add('shop/huge:1')
    plane.node.endlessPulls.add('shop/huge:1')
    await plane.create(id, spec('shop/huge:1'))
    await plane.nudge(id)
    await until(() => plane.node.acted.some((a) => a.resource === id && a.key.startsWith('pull:')))
    await plane.change(id, spec('shop/web:2'))
    await plane.nudge(id)
    await until(() => isReady(id, 2))
    // The newer release does not wait for the pull's end, which hears of its cancel with its next heartbeat.
    await until(() => plane.node.cancelled.includes('shop/huge:1'))
    await recordHistory(plane.server, `application:${id}`, 'superseded-pull')
  })

  it('deletion and nudges in the same instant as the start -> torn down, the workflow ends, a tombstone stays', async () => {
    const id = 'app_deleted'
    await plane.create(id, spec('shop/web:1'))
    await plane.nudge(id)
    await until(() => isReady(id, 1))
    await plane.db.resource.update({ where: { id }, data: { deletionRequestedAt: new Date(), generation: { increment: 1 } } })
    await Promise.all([plane.nudge(id), plane.nudge(id), plane.nudge(id)])
    await until(async () => (await plane.db.resource.count({ where: { id } })) === 0)
    expect(plane.node.worlds.get(id)?.containers).toEqual([])
    expect(await plane.db.tombstone.count({ where: { resourceId: id } })).toBe(1)
    expect(await plane.db.endpoint.count({ where: { resourceId: id } })).toBe(0)
    await until(async () => (await workflow(id).describe()).status.name === 'COMPLETED')
    await recordHistory(plane.server, `application:${id}`, 'deletion')
  })

  it('a run cancelled by a person -> what is in flight settles, nothing is torn down, the sweep starts it again', async () => {
    const id = 'app_cancelled'
    await plane.create(id, spec('shop/web:1'))
    await plane.nudge(id)
    await until(() => isReady(id, 1))
    await workflow(id).cancel()
    await until(async () => (await workflow(id).describe()).status.name === 'CANCELLED')
    expect(plane.node.worlds.get(id)?.containers).toHaveLength(1)
    await plane.db.resource.update({ where: { id }, data: { nextPassDueAt: new Date(0) } })
    await plane.control.sweepPage('')
    await until(async () => (await workflow(id).describe()).status.name === 'RUNNING')
  })

  it('a paused resource -> nobody looks at it, planned no further, observed generation stands still, goes on when resumed', async () => {
    const id = 'app_paused'
    await plane.create(id, spec('shop/web:1'))
    await plane.nudge(id)
    await until(() => isReady(id, 1))
    await plane.db.resource.update({ where: { id }, data: { paused: true } })
    await plane.change(id, spec('shop/web:9'))
    const looks = () => plane.node.observed.filter((resource) => resource === id).length
    const looksBefore = looks()
    const { passNumber } = await plane.db.resource.findUniqueOrThrow({ where: { id } })
    await plane.nudge(id)
    await until(async () => (await plane.db.resource.findUniqueOrThrow({ where: { id } })).decisionPass > passNumber)
    expect(looks()).toBe(looksBefore)
    expect((await plane.db.resource.findUniqueOrThrow({ where: { id } })).observedGeneration).toBe(1)
    expect(plane.node.worlds.get(id)?.containers.map((c) => c.imageId)).toEqual(['shop/web:1'])
    await plane.db.resource.update({ where: { id }, data: { paused: false } })
    await plane.nudge(id)
    await until(() => isReady(id, 2))
  })

  it('a resource that nobody knows -> the run ends at once', async () => {
    await plane.nudge('app_nobody')
    await until(async () => (await workflow('app_nobody').describe()).status.name === 'COMPLETED')
  })

  it('a signal to a run that does not exist -> refused; with start -> seen', async () => {
    await expect(workflow('app_unstarted').signal(nudgeSignal)).rejects.toThrow(WorkflowNotFoundError)
  })

  it('any payload of any history -> smaller than 64 KB', async () => {
    const history = await workflow('app_nudged').fetchHistory()
    const largest = Math.max(...(history.events ?? []).map((event) => JSON.stringify(event).length))
    expect(largest).toBeLessThan(64 * 1024)
  })
})
