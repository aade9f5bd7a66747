import { Module } from '@nestjs/common'
import { AgentsModule } from '../agents/agents.module.js'
import { ExecGateway } from './exec.gateway.js'
import { ExecResolver } from './exec.resolver.js'
import { ExecSessions } from './exec.service.js'

@Module({ imports: [AgentsModule], providers: [ExecSessions, ExecGateway, ExecResolver] })
export class ExecModule {}
