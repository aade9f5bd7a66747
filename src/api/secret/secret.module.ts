import { Global, Module } from '@nestjs/common'
import { ProjectSecretsResolver, SecretResolver, SecretVersionResolver } from './secret.resolver.js'
import { Vault } from './vault.service.js'

@Global()
@Module({ providers: [Vault, SecretResolver, SecretVersionResolver, ProjectSecretsResolver], exports: [Vault] })
export class SecretModule {}
