import { Inject } from '@nestjs/common'
import { Args, Context, Mutation, Resolver } from '@nestjs/graphql'
import type { EndpointRow } from '../../persistence/application.repository.js'
import { AgentsGateway } from '../agents/agents.gateway.js'
import type { GraphqlContext } from '../graphql/context.js'
import type { UserErrorValue } from '../graphql/user-error.js'
import { ApplicationExecArgs, ApplicationExecPayload, type ExecCode } from './exec.model.js'
import { ExecSessions } from './exec.service.js'

type ExecError = UserErrorValue<ExecCode>

const argumentsMost = 100
const commandCharactersMost = 32 * 1024
const userPattern = /^[A-Za-z0-9_.-]{1,64}(:[A-Za-z0-9_.-]{1,64})?$/
const pathPattern = /^\/[^\0]{0,1000}$/

@Resolver()
export class ExecResolver {
  constructor(
    @Inject(ExecSessions) private readonly sessions: ExecSessions,
    @Inject(AgentsGateway) private readonly agents: AgentsGateway,
  ) {}

  @Mutation(() => ApplicationExecPayload, {
    description:
      'Prepares a command in a replica; it starts when a client attaches to the WebSocket, and ends with it. Who ran what, where and with which exit code is audited, what goes in and out is not.',
  })
  async applicationExec(
    @Args() args: ApplicationExecArgs,
    @Context() { actor, loaders }: GraphqlContext,
  ): Promise<ApplicationExecPayload> {
    const { id } = args
    const errors = argumentErrors(args)
    if (errors.length > 0) return refused(...errors)
    if ((await loaders.resource.load(id))?.kind !== 'application')
      return refused({ field: ['id'], message: `there is no application ${id}`, code: 'NOT_FOUND' })
    const endpoint = chosen(await loaders.endpoints.load(id), args)
    if (!endpoint) return refused({ field: ['replica'], message: 'there is no such replica now', code: 'REPLICA_NOT_FOUND' })
    const { release, replica, node } = endpoint
    if (!this.agents.reaches(node))
      return refused({ field: null, message: `the agent of node ${node} is not connected`, code: 'NODE_AWAY' })
    const { command, tty, user = null, workingDir = null } = args
    const order = { actor, resource: id, release, replica, nodeId: node, command, tty, user, workingDir }
    const made = await this.sessions.create(order)
    if (!made) return refused({ field: null, message: 'end another command first', code: 'TOO_MANY_SESSIONS' })
    const { session, token, expiresAt } = made
    const webSocketPath = `/exec/${session}`
    return { session: { id: session, release, replica, nodeId: node, webSocketPath, token, expiresAt }, userErrors: [] }
  }
}

function refused(...userErrors: ExecError[]): ApplicationExecPayload {
  return { session: null, userErrors }
}

/** A ready one before others, then the newest release, then the lowest number. */
function chosen(endpoints: EndpointRow[], { replica, release }: ApplicationExecArgs): EndpointRow | undefined {
  return endpoints
    .filter((e) => (replica ?? e.replica) === e.replica && (release ?? e.release) === e.release)
    .toSorted(
      (a, b) => Number(b.state === 'ready') - Number(a.state === 'ready') || b.release - a.release || a.replica - b.replica,
    )[0]
}

function argumentErrors({ command, user, workingDir }: ApplicationExecArgs): ExecError[] {
  const errors: ExecError[] = []
  const wrong = (field: string, message: string) => errors.push({ field: [field], message, code: 'INVALID' })
  const characters = command.reduce((sum, argument) => sum + argument.length, 0)
  if (command.length < 1 || command.length > argumentsMost || characters > commandCharactersMost || !command[0])
    wrong('command', `must have 1 to ${argumentsMost} entries of together at most ${commandCharactersMost} characters`)
  if (command.some((argument) => argument.includes('\0'))) wrong('command', 'must hold no NUL')
  if (user !== null && user !== undefined && !userPattern.test(user))
    wrong('user', 'must be a user or user:group, by name or number')
  if (workingDir !== null && workingDir !== undefined && !pathPattern.test(workingDir))
    wrong('workingDir', 'must be an absolute path')
  return errors
}
