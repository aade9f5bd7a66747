import { Inject } from '@nestjs/common'
import { Args, Context, ID, Query, ResolveField, Resolver } from '@nestjs/graphql'
import { ResourceRepository, type ResourceRow } from '../../persistence/resource.repository.js'
import { PageArgs, pageSize, toConnection } from '../graphql/connection.js'
import type { GraphqlContext } from '../graphql/context.js'
import { decodeCursor, nameCursor } from '../graphql/cursor.js'
import { Node, NodeConnection, NodeStatus } from './node.model.js'

const kind = 'node'

@Resolver(() => Node)
export class NodeResolver {
  constructor(@Inject(ResourceRepository) private readonly resources: ResourceRepository) {}

  @Query(() => Node, { nullable: true, description: 'One node; null when there is none with this id.' })
  async node(@Args('id', { type: () => ID, description: 'Its id.' }) id: string, @Context() { loaders }: GraphqlContext) {
    const row = await loaders.resource.load(id)
    return row?.kind === kind ? row : null
  }

  @Query(() => NodeConnection, { name: 'nodes', description: 'Nodes, by name.' })
  async list(@Args() args: PageArgs) {
    const page = await this.resources.list({ kind }, { first: pageSize(args), after: decodeCursor(nameCursor, args.after) })
    return toConnection(page, args, (r) => ({ name: r.name, id: r.id }))
  }

  @ResolveField(() => NodeStatus, { nullable: true, description: 'What it told of itself; null before its agent connected.' })
  async status({ id }: ResourceRow, _noArguments: unknown, { loaders }: GraphqlContext): Promise<NodeStatus | null> {
    const status = await loaders.nodeStatus.load(id)
    if (!status) return null
    const { memoryBytes, diskTotalBytes, diskFreeBytes, ...rest } = status
    return {
      ...rest,
      memoryBytes: toNumber(memoryBytes),
      diskTotalBytes: toNumber(diskTotalBytes),
      diskFreeBytes: toNumber(diskFreeBytes),
    }
  }
}

function toNumber(bytes: bigint | null): number | null {
  return bytes === null ? null : Number(bytes)
}
