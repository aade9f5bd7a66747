import { z } from 'zod'
import { domainSchema } from '../ingress/domain.js'
import { imageSchema } from '../name.js'

/** The demo's spec: one nginx container with one port on the loopback address. */
export const nginxdemoSpecSchema = z
  .object({
    image: imageSchema.optional(),
    /** Port on 127.0.0.1. */
    hostPort: z.number().int().min(1).max(65535),
    /** Host under which ingress serves it, without TLS. */
    host: domainSchema.shape.host.optional(),
  })
  .strict()
export type NginxdemoSpec = z.infer<typeof nginxdemoSpecSchema>

export const nginxdemoDefaultImage = 'nginx:1.28-alpine'

export interface NginxdemoDesired {
  spec: NginxdemoSpec
  node: string
}
