import { Module } from '@nestjs/common'
import { ReconciledResolver } from './reconciled.resolver.js'

@Module({ providers: [ReconciledResolver] })
export class ResourceModule {}
