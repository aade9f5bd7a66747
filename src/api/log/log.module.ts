import { Module } from '@nestjs/common'
import { AgentsModule } from '../agents/agents.module.js'
import { LogResolver } from './log.resolver.js'
import { Logs } from './log.service.js'

@Module({ imports: [AgentsModule], providers: [Logs, LogResolver], exports: [Logs] })
export class LogModule {}
