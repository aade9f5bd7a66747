import { Module } from '@nestjs/common'
import { AgentsGateway } from './agents.gateway.js'
import { Inventory } from './inventory.service.js'
import { KeepImages } from './keep-images.service.js'

@Module({ providers: [AgentsGateway, Inventory, KeepImages], exports: [AgentsGateway] })
export class AgentsModule {}
