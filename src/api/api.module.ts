import { Global, Module, type DynamicModule } from '@nestjs/common'
import { AgentsModule } from './agents/agents.module.js'
import { API_OPTIONS, type ApiOptions } from './api.options.js'
import { ApplicationModule } from './application/application.module.js'
import { AuditModule } from './audit/audit.module.js'
import { AuthModule } from './auth/auth.module.js'
import { ChangeModule } from './change/change.module.js'
import { DomainModule } from './domain/domain.module.js'
import { EventModule } from './event/event.module.js'
import { ExecModule } from './exec/exec.module.js'
import { GraphqlEndpointModule, LoaderModule } from './graphql/graphql-endpoint.module.js'
import { HealthModule } from './health/health.module.js'
import { IngressModule } from './ingress/ingress.module.js'
import { LogModule } from './log/log.module.js'
import { MetricsModule } from './metrics/metrics.module.js'
import { NginxdemoModule } from './nginxdemo/nginxdemo.module.js'
import { NodeModule } from './node/node.module.js'
import { NudgeModule } from './nudge/nudge.module.js'
import { OrphanModule } from './orphan/orphan.module.js'
import { PersistenceModule } from './persistence.module.js'
import { ProjectModule } from './project/project.module.js'
import { RegistryCredentialModule } from './registry-credential/registry-credential.module.js'
import { ResourceModule } from './resource/resource.module.js'
import { SecretModule } from './secret/secret.module.js'
import { TokenModule } from './token/token.module.js'

@Global()
@Module({})
class OptionsModule {}

/** The whole API. One module a kind, beside what all kinds share. */
@Module({})
export class ApiModule {
  static of(options: ApiOptions): DynamicModule {
    return {
      module: ApiModule,
      imports: [
        { module: OptionsModule, providers: [{ provide: API_OPTIONS, useValue: options }], exports: [API_OPTIONS] },
        PersistenceModule,
        LoaderModule,
        AuthModule,
        NudgeModule,
        ChangeModule,
        GraphqlEndpointModule,
        AgentsModule,
        HealthModule,
        MetricsModule,
        ResourceModule,
        ProjectModule,
        SecretModule,
        RegistryCredentialModule,
        ApplicationModule,
        LogModule,
        ExecModule,
        NginxdemoModule,
        IngressModule,
        DomainModule,
        NodeModule,
        EventModule,
        OrphanModule,
        TokenModule,
        AuditModule,
      ],
    }
  }
}
