import { Module } from '@nestjs/common'
import { ApplicationDomainsResolver, DomainResolver } from './domain.resolver.js'

@Module({ providers: [DomainResolver, ApplicationDomainsResolver] })
export class DomainModule {}
