import { Module } from '@nestjs/common'
import { EventResolver } from './event.resolver.js'

@Module({ providers: [EventResolver] })
export class EventModule {}
