import { Field, ID, InputType, Int } from '@nestjs/graphql'

@InputType({ description: 'Which orphan.' })
export class OrphanSelector {
  @Field(() => ID, { description: 'The node that it is on.' })
  nodeId!: string

  @Field(() => ID, { description: 'The id in its labels.' })
  resourceId!: string
}

@InputType({
  description:
    'What an adopted orphan shall be. Containers do not tell what was desired, so a person says it; the resource starts paused.',
})
export class OrphanAdoptInput {
  @Field(() => ID, { description: 'The project that it goes into.' })
  projectId!: string

  @Field(() => String, { description: 'Its name: a DNS label, unique in the project.' })
  name!: string

  @Field(() => String, { nullable: true, description: 'The image; needed for an application.' })
  image?: string | null

  @Field(() => Int, { nullable: true, description: 'Port on 127.0.0.1; needed for an nginxdemo.' })
  hostPort?: number | null

  @Field(() => Int, { nullable: true, description: "An ingress's port for HTTP; 80 when not given." })
  httpPort?: number | null

  @Field(() => Int, { nullable: true, description: "An ingress's port for HTTPS; 443 when not given." })
  httpsPort?: number | null
}
