import { Module } from '@nestjs/common'
import { NginxdemoResolver } from './nginxdemo.resolver.js'

@Module({ providers: [NginxdemoResolver] })
export class NginxdemoModule {}
