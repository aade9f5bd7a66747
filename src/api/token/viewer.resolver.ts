import { Context, Query, Resolver } from '@nestjs/graphql'
import type { GraphqlContext } from '../graphql/context.js'
import { Viewer } from './token.model.js'

@Resolver(() => Viewer)
export class ViewerResolver {
  @Query(() => Viewer, { description: 'Who is asking, and what the token may do.' })
  viewer(@Context() { actor }: GraphqlContext): Viewer {
    return actor
  }
}
