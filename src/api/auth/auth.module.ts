import { Global, Module } from '@nestjs/common'
import { APP_GUARD } from '@nestjs/core'
import { AbilityGuard } from './ability.guard.js'
import { Authenticator } from './authenticator.service.js'

@Global()
@Module({ providers: [Authenticator, { provide: APP_GUARD, useClass: AbilityGuard }], exports: [Authenticator] })
export class AuthModule {}
