import { Module } from '@nestjs/common'
import { OrphanResolver } from './orphan.resolver.js'

@Module({ providers: [OrphanResolver] })
export class OrphanModule {}
