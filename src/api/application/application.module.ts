import { Module } from '@nestjs/common'
import { ApplicationPlanResolver } from './application-plan.resolver.js'
import { ApplicationResolver, EndpointResolver, ReleaseResolver } from './application.resolver.js'

@Module({ providers: [ApplicationResolver, ApplicationPlanResolver, ReleaseResolver, EndpointResolver] })
export class ApplicationModule {}
