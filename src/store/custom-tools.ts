import type { CustomTool } from '../contracts/custom-tools.ts';
import type { Prisma, PrismaClient } from '../generated/prisma/client.ts';
import { resource } from './resource.ts';

export type CustomToolStore = ReturnType<typeof customToolStore>;

export function customToolStore(prisma: PrismaClient) {
  const table = resource<CustomTool>(prisma.customTool, { noun: 'custom tool' });
  return {
    ...table,
    setEnvConfig: (id: string, env_config: CustomTool['env_config']) =>
      table.update(id, { env_config: (env_config ?? {}) as Prisma.InputJsonValue }),
  };
}
