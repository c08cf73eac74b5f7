import type { CustomTool } from '../../contracts/custom-tools.ts';
import { isUuid } from '../../domain/uuid.ts';
import type { Prisma } from '../../generated/prisma/client.ts';
import { wire } from '../database/page.ts';
import { resource } from '../database/resource.ts';

export function customToolStore(prisma: Prisma.TransactionClient) {
  const table = resource<CustomTool>(prisma.customTool, { noun: 'custom tool' });
  return {
    ...table,
    async findNamed(name: string): Promise<CustomTool | null> {
      const tool = await prisma.customTool.findUnique({ where: { name } });
      return tool && (wire(tool) as CustomTool);
    },
    /** Returns the enabled tools that declare environment variables. */
    async declaring(ids: string[]): Promise<Pick<CustomTool, 'id' | 'name' | 'env_config'>[]> {
      const tools = await prisma.customTool.findMany({
        where: { id: { in: ids.filter(isUuid) }, is_enabled: true, NOT: { env_config: { equals: {} } } },
        select: { id: true, name: true, env_config: true },
        orderBy: { name: 'asc' },
      });
      return tools as Pick<CustomTool, 'id' | 'name' | 'env_config'>[];
    },
    /** Returns the environment variables that the custom tools of an agent declare. */
    async listVariables(agent_id: string): Promise<string[]> {
      const agent = await prisma.agent.findUnique({ where: { id: agent_id }, select: { custom_tool_ids: true } });
      const tools = await prisma.customTool.findMany({
        where: { id: { in: agent?.custom_tool_ids ?? [] } },
        select: { env_config: true },
      });
      return [...new Set(tools.flatMap(({ env_config }) => Object.keys(env_config as object)))].sort();
    },
  };
}
