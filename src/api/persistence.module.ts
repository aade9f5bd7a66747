import { Global, Module, type Provider, type Type } from '@nestjs/common'
import { ApplicationRepository } from '../persistence/application.repository.js'
import { ArtifactRepository } from '../persistence/artifact.repository.js'
import { AuditRepository } from '../persistence/audit.repository.js'
import { ConditionRepository } from '../persistence/condition.repository.js'
import type { Database } from '../persistence/database.js'
import { DomainRepository } from '../persistence/domain.repository.js'
import { EventRepository } from '../persistence/event.repository.js'
import { NodeRepository } from '../persistence/node.repository.js'
import { OrphanRepository } from '../persistence/orphan.repository.js'
import { ProjectRepository } from '../persistence/project.repository.js'
import { RegistryCredentialRepository } from '../persistence/registry-credential.repository.js'
import { ResourceRepository } from '../persistence/resource.repository.js'
import { SecretRepository } from '../persistence/secret.repository.js'
import { TokenRepository } from '../persistence/token.repository.js'
import { API_OPTIONS, type ApiOptions } from './api.options.js'

const repositories: Type<unknown>[] = [
  ApplicationRepository,
  ArtifactRepository,
  AuditRepository,
  ConditionRepository,
  DomainRepository,
  EventRepository,
  NodeRepository,
  OrphanRepository,
  ProjectRepository,
  RegistryCredentialRepository,
  ResourceRepository,
  SecretRepository,
  TokenRepository,
]

const providers = repositories.map((repository): Provider => ({
  provide: repository,
  useFactory: ({ database }: ApiOptions) => new (repository as new (db: Database) => unknown)(database),
  inject: [API_OPTIONS],
}))

/** The repositories, which know nothing of Nest, for whoever injects them. */
@Global()
@Module({ providers, exports: repositories })
export class PersistenceModule {}
