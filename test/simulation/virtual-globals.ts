import { running } from './sim-process.js'
import type { Timer, VirtualClock } from './virtual-clock.js'

/**
 * While a world runs, the language's own clock and timers are its clock, and chance is forbidden: code under test that
 * uses them by name is driven by virtual time, and its timers die with the simulated process that set them. The driver
 * of a real database may draw lots.
 */
export async function withVirtualGlobals<T>(clock: VirtualClock, run: () => Promise<T>, forbidChance = true): Promise<T> {
  const real = {
    setTimeout: globalThis.setTimeout,
    clearTimeout: globalThis.clearTimeout,
    setInterval: globalThis.setInterval,
    clearInterval: globalThis.clearInterval,
    now: Date.now,
    random: Math.random,
    timeout: AbortSignal.timeout,
  }

  class VirtualTimer {
    cancelled = false
    timer: Timer | null = null
    ref = () => this
    unref = () => this
    hasRef = () => true
    refresh = () => this;
    [Symbol.toPrimitive] = () => 0
  }

  const begin = (callback: (...args: unknown[]) => void, ms: number, args: unknown[], repeat: boolean): VirtualTimer => {
    const handle = new VirtualTimer()
    const context = running.getStore()
    const fire = () => {
      const call = () => {
        if (handle.cancelled) return
        callback(...args)
        if (repeat && !handle.cancelled) handle.timer = clock.after(ms, fire)
      }
      if (context) context.process.whenAwake(() => running.run(context, call))
      else call()
    }
    handle.timer = clock.after(ms, fire)
    return handle
  }
  const end = (handle: unknown) => {
    if (!(handle instanceof VirtualTimer)) return
    handle.cancelled = true
    if (handle.timer) handle.timer.cancelled = true
  }

  Object.assign(globalThis, {
    setTimeout: (callback: () => void, ms = 0, ...args: unknown[]) => begin(callback, ms, args, false),
    setInterval: (callback: () => void, ms = 0, ...args: unknown[]) => begin(callback, ms, args, true),
    clearTimeout: end,
    clearInterval: end,
  })
  Date.now = () => clock.now()
  if (forbidChance)
    Math.random = () => {
      throw new Error('Math.random is forbidden in a simulated world')
    }
  AbortSignal.timeout = (ms) => {
    const controller = new AbortController()
    begin(() => controller.abort(new DOMException('timed out', 'TimeoutError')), ms, [], false)
    return controller.signal
  }
  try {
    return await run()
  } finally {
    const { now, random, timeout, ...timers } = real
    Object.assign(globalThis, timers)
    Date.now = now
    Math.random = random
    AbortSignal.timeout = timeout
  }
}
