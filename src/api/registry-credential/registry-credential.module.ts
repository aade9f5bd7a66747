import { Module } from '@nestjs/common'
import { RegistryCredentialResolver } from './registry-credential.resolver.js'

@Module({ providers: [RegistryCredentialResolver] })
export class RegistryCredentialModule {}
