import { Global, Module } from '@nestjs/common'
import { AgentsModule } from '../agents/agents.module.js'
import { LogModule } from '../log/log.module.js'
import { MetricsController } from './metrics.controller.js'
import { Metrics } from './metrics.service.js'

@Global()
@Module({ imports: [AgentsModule, LogModule], controllers: [MetricsController], providers: [Metrics], exports: [Metrics] })
export class MetricsModule {}
