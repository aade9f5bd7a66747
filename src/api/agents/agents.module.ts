import { Module } from '@nestjs/common'
import { AgentCalls } from './agent-calls.service.js'
import { AgentsGateway } from './agents.gateway.js'
import { Inventory } from './inventory.service.js'
import { KeepImages } from './keep-images.service.js'

@Module({ providers: [AgentsGateway, AgentCalls, Inventory, KeepImages], exports: [AgentsGateway] })
export class AgentsModule {}
