import { Module } from '@nestjs/common'
import { TokenResolver } from './token.resolver.js'
import { ViewerResolver } from './viewer.resolver.js'

@Module({ providers: [TokenResolver, ViewerResolver] })
export class TokenModule {}
