import { ApplicationActionResolver } from './application/application-action.resolver.js'
import { ApplicationPlanResolver } from './application/application-plan.resolver.js'
import { ApplicationResolver, EndpointResolver } from './application/application.resolver.js'
import { ApplicationFileResolver, ReleaseResolver } from './application/release.resolver.js'
import { AuditResolver } from './audit/audit.resolver.js'
import { ApplicationDomainsResolver, DomainResolver } from './domain/domain.resolver.js'
import { EventResolver } from './event/event.resolver.js'
import { ExecResolver } from './exec/exec.resolver.js'
import { IngressResolver } from './ingress/ingress.resolver.js'
import { LogResolver } from './log/log.resolver.js'
import { NginxdemoResolver } from './nginxdemo/nginxdemo.resolver.js'
import { NodeResolver } from './node/node.resolver.js'
import { OrphanResolver } from './orphan/orphan.resolver.js'
import { ProjectEnvResolver } from './project/project-env.resolver.js'
import { ProjectResolver } from './project/project.resolver.js'
import { RegistryCredentialResolver } from './registry-credential/registry-credential.resolver.js'
import { ReconciledResolver, TransitionResolver } from './resource/reconciled.resolver.js'
import { ResourceResolver } from './resource/resource.resolver.js'
import { ProjectSecretsResolver, SecretResolver, SecretVersionResolver } from './secret/secret.resolver.js'
import { TokenResolver } from './token/token.resolver.js'
import { ViewerResolver } from './token/viewer.resolver.js'

/** Every resolver, for printing the schema without starting anything. A test compares the print with the running API's schema. */
export const resolvers = [
  ReconciledResolver,
  TransitionResolver,
  ResourceResolver,
  ProjectResolver,
  ProjectEnvResolver,
  ProjectSecretsResolver,
  SecretResolver,
  SecretVersionResolver,
  RegistryCredentialResolver,
  ApplicationResolver,
  ApplicationActionResolver,
  ApplicationPlanResolver,
  ReleaseResolver,
  ApplicationFileResolver,
  EndpointResolver,
  LogResolver,
  ExecResolver,
  NginxdemoResolver,
  IngressResolver,
  DomainResolver,
  ApplicationDomainsResolver,
  NodeResolver,
  EventResolver,
  OrphanResolver,
  TokenResolver,
  ViewerResolver,
  AuditResolver,
]
