import { Global, Module } from '@nestjs/common'
import { Nudger } from './nudger.service.js'

@Global()
@Module({ providers: [Nudger], exports: [Nudger] })
export class NudgeModule {}
