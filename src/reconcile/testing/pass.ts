import { applicationController } from '../application/controller.js'
import type { ApplicationDesired, ApplicationRecord } from '../application/desired.js'
import type { Action } from '../action.js'
import type { Controller, Plan, PlanInput } from '../controller.js'
import { planWithRecords } from '../preview.js'
import { deepFreeze } from './deep-freeze.js'
import { inputOf, type Setup } from './application-world.js'

/** One pass over an application, in words short enough for a table. */
export interface Pass {
  records: string[]
  actions: string[]
  /** `<status> <reason>` by condition type. */
  conditions: Record<string, string>
  messages: Record<string, string>
  requeueAfterMs: number | null
  finalize: boolean
  plan: Plan<ApplicationRecord>
  input: PlanInput<ApplicationDesired>
}

/** Plans once, with its records written. Addresses come from 10.91.0.0/24 unless they are exhausted. */
export function passOf(setup: Setup | PlanInput<ApplicationDesired>, addresses = Infinity): Pass {
  const start = deepFreeze('resource' in setup ? setup : inputOf(setup))
  const records: string[] = []
  const listening: Controller<ApplicationDesired, ApplicationRecord> = {
    ...applicationController,
    applyRecord: (desired, record, allocated) => {
      records.push(wordsOf(record))
      return deepFreeze(applicationController.applyRecord(desired, record, allocated))
    },
  }
  let given = 0
  const { plan, input } = planWithRecords(listening, start, () => (given < addresses ? `10.91.0.${++given}` : null))
  return {
    records,
    actions: plan.actions.map((a) => a.key),
    conditions: Object.fromEntries(plan.conditions.map((c) => [c.type, `${c.status} ${c.reason}`])),
    messages: Object.fromEntries(plan.conditions.map((c) => [c.type, c.message])),
    requeueAfterMs: plan.requeueAfterMs,
    finalize: plan.finalize,
    plan,
    input,
  }
}

export function wordsOf(record: ApplicationRecord): string {
  switch (record.type) {
    case 'release':
      return `release ${record.release.number}`
    case 'verdict':
      return `verdict ${record.release} ${record.reason}`
    case 'preDeployed':
      return `pre-deployed ${record.release}`
    case 'verdictLog':
      return `log ${record.release} ${record.sha256}`
    case 'serving':
      return `serving ${record.release}`
    case 'endpoint':
      return `endpoint ${record.release}/${record.replica}`
    case 'endpointState':
      return `${record.state} ${record.release}/${record.replica}`
    case 'unrouted':
      return `unrouted ${record.release}/${record.replica}`
    case 'endpointGone':
      return `gone ${record.release}/${record.replica}`
    case 'published':
    case 'unpublished':
    case 'volumesMade':
    case 'volumesGone':
      return `${record.type} on ${record.node}`
  }
}

/** The one action of `key`, as the verb that it has. */
export function actionOf<V extends Action['verb']>(pass: Pass, key: string, verb: V): Extract<Action, { verb: V }> {
  const found = pass.plan.actions.find((a) => a.key === key)
  if (found?.verb !== verb) throw new Error(`no ${verb} ${key} among ${pass.actions.join(', ')}`)
  return found as Extract<Action, { verb: V }>
}
