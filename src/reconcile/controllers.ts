import { applicationController } from './application/controller.js'
import type { Controller } from './controller.js'
import { ingressController } from './ingress/plan.js'
import type { ReconciledKind } from './kind.js'
import { nginxdemoController } from './nginxdemo/plan.js'

/** The controller of every kind that has a loop. Adding a kind adds one line here. */
export const controllers = {
  application: applicationController,
  ingress: ingressController,
  nginxdemo: nginxdemoController,
} as const satisfies Record<ReconciledKind, unknown>

/** For code that treats all kinds alike: what a kind's desired state and records are is known only to that kind. */
export type AnyController = Controller<unknown, unknown>

export function controllerOf(kind: string): AnyController | undefined {
  return Object.hasOwn(controllers, kind) ? (controllers as unknown as Record<string, AnyController>)[kind] : undefined
}
