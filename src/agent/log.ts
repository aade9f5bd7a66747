import type { Logger } from 'pino'

/** What the agent's parts log with; never a secret, never an action's arguments. */
export type AgentLog = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>
