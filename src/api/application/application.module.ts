import { Module } from '@nestjs/common'
import { ApplicationActionResolver } from './application-action.resolver.js'
import { ApplicationPlanResolver } from './application-plan.resolver.js'
import { ApplicationWriter } from './application-writer.service.js'
import { ApplicationResolver, EndpointResolver } from './application.resolver.js'
import { ApplicationFileResolver, ReleaseResolver } from './release.resolver.js'

@Module({
  providers: [
    ApplicationWriter,
    ApplicationResolver,
    ApplicationActionResolver,
    ApplicationPlanResolver,
    ReleaseResolver,
    ApplicationFileResolver,
    EndpointResolver,
  ],
})
export class ApplicationModule {}
