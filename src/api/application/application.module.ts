import { Module } from '@nestjs/common'
import { ApplicationResolver, EndpointResolver, ReleaseResolver } from './application.resolver.js'

@Module({ providers: [ApplicationResolver, ReleaseResolver, EndpointResolver] })
export class ApplicationModule {}
