import { Module } from '@nestjs/common'
import { IngressResolver } from './ingress.resolver.js'

@Module({ providers: [IngressResolver] })
export class IngressModule {}
