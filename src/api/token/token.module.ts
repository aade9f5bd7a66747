import { Module } from '@nestjs/common'
import { ViewerResolver } from './viewer.resolver.js'

@Module({ providers: [ViewerResolver] })
export class TokenModule {}
