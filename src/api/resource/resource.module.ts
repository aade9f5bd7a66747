import { Module } from '@nestjs/common'
import { ReconciledResolver, TransitionResolver } from './reconciled.resolver.js'
import { ResourceResolver } from './resource.resolver.js'

@Module({ providers: [ReconciledResolver, TransitionResolver, ResourceResolver] })
export class ResourceModule {}
