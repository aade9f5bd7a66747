import { Module } from '@nestjs/common'
import { ProjectResolver } from './project.resolver.js'

@Module({ providers: [ProjectResolver] })
export class ProjectModule {}
