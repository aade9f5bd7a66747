import { Module } from '@nestjs/common'
import { APP_INTERCEPTOR } from '@nestjs/core'
import { AuditResolver } from './audit.resolver.js'
import { RefusalAudit } from './refusal-audit.interceptor.js'

@Module({ providers: [AuditResolver, { provide: APP_INTERCEPTOR, useClass: RefusalAudit }] })
export class AuditModule {}
