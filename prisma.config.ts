import { fileURLToPath } from 'node:url';
import { defineConfig } from 'prisma/config';

// Prisma's own engine would be downloaded; this one is built from npm packages.
process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= fileURLToPath(new URL('prisma/schema-engine.mjs', import.meta.url));

export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  datasource: { url: process.env.DATABASE_URL ?? 'postgresql://localhost:5432/perdura' },
});
