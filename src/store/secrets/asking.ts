import { type Asked, asked, type SecretHolder } from '../../domain/destinations.ts';
import type { Prisma } from '../../generated/prisma/client.ts';
import { connectionStores } from './connections.ts';
import type { KeyRing } from './key-ring.ts';

/** A resource that may name stored tokens. */
export interface Holder {
  kind: SecretHolder;
  id: string;
}

interface Asking {
  holder: Holder;
  /** The creator of the resource. */
  saved_by: string;
  wanted: Asked[];
}

/** The current resources, with the tokens that they name. */
export function askingResources(prisma: Prisma.TransactionClient, keys: KeyRing) {
  const { mcpServers, knowledgeSources } = connectionStores(prisma, keys);

  async function toolsOf(agent_id: string) {
    const agent = await prisma.agent.findUnique({ where: { id: agent_id }, select: { custom_tool_ids: true } });
    return prisma.customTool.findMany({ where: { id: { in: agent?.custom_tool_ids ?? [] } } });
  }

  const readers: Record<SecretHolder, (where: object) => Promise<Asking[]>> = {
    provider: async (where) =>
      (await prisma.provider.findMany({ where: { api_key_token_name: { not: null }, ...where } })).map((found) => ({
        holder: { kind: 'provider', id: found.id },
        saved_by: found.created_by,
        wanted: asked.provider(found),
      })),
    custom_tool: async (where) =>
      (await prisma.customTool.findMany({ where })).map((found) => ({
        holder: { kind: 'custom_tool', id: found.id },
        saved_by: found.created_by,
        wanted: asked.custom_tool(found as never),
      })),
    mcp_server: async (where) =>
      (await mcpServers.openedAll(where)).map((found) => ({
        holder: { kind: 'mcp_server', id: found.id },
        saved_by: found.created_by,
        wanted: asked.mcp_server(found),
      })),
    knowledge_source: async (where) =>
      (await knowledgeSources.openedAll(where)).map((found) => ({
        holder: { kind: 'knowledge_source', id: found.id },
        saved_by: found.created_by,
        wanted: asked.knowledge_source(found),
      })),
    async workflow(where) {
      const naming = { OR: [{ repo_token_name: { not: null } }, { credential_overrides: { not: {} } }] };
      const found = await prisma.workflow.findMany({ where: { AND: [naming, where] } });
      return Promise.all(
        found.map(async (workflow) => ({
          holder: { kind: 'workflow' as const, id: workflow.id },
          saved_by: workflow.owner,
          wanted: asked.workflow(workflow, await toolsOf(workflow.agent_id)),
        })),
      );
    },
  };

  const all = async (where: Partial<Record<SecretHolder, object>> = {}) =>
    (await Promise.all(Object.entries(readers).map(([kind, read]) => read(where[kind as SecretHolder] ?? {})))).flat();

  return {
    all: () => all(),
    of: (kind: SecretHolder, ids: readonly string[]): Promise<Asking[]> => readers[kind]({ id: { in: [...ids] } }),
    /** The resources that name a token. Workflows are private, so other users' are left out. */
    asking: async (token: string, owner: string): Promise<Asked[]> =>
      (await all({ workflow: { owner }, provider: { api_key_token_name: token } }))
        .flatMap(({ wanted }) => wanted)
        .filter((one) => one.token === token),
  };
}
