import type { AgentLog } from '../log.js'

/** A log that nobody reads. */
export const noLog: AgentLog = { debug() {}, info() {}, warn() {}, error() {} }
