import { defineConfig } from 'prisma/config'

/** For `prisma generate` (Prisma 7). Migrations are Prisma 6's: see prisma/migrate.config.mjs. */
export default defineConfig({ schema: 'prisma/schema.prisma' })
