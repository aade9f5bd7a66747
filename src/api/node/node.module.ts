import { Module } from '@nestjs/common'
import { NodeResolver } from './node.resolver.js'

@Module({ providers: [NodeResolver] })
export class NodeModule {}
