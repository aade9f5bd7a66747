import { Module } from '@nestjs/common'
import { ProjectEnvResolver } from './project-env.resolver.js'
import { ProjectResolver } from './project.resolver.js'

@Module({ providers: [ProjectResolver, ProjectEnvResolver] })
export class ProjectModule {}
