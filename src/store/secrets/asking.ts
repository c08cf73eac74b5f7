import { type SecretHolder, type TokenReference, tokenReferences } from '../../domain/destinations.ts';
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
  token_references: TokenReference[];
}

/** Lists the current resources with the tokens that they name. */
export function askingResources(prisma: Prisma.TransactionClient, keys: KeyRing) {
  const { mcpServers, knowledgeSources } = connectionStores(prisma, keys);

  async function listTools(agent_id: string) {
    const agent = await prisma.agent.findUnique({ where: { id: agent_id }, select: { custom_tool_ids: true } });
    return prisma.customTool.findMany({ where: { id: { in: agent?.custom_tool_ids ?? [] } } });
  }

  const readers: Record<SecretHolder, (where: object) => Promise<Asking[]>> = {
    provider: async (where) =>
      (await prisma.provider.findMany({ where: { api_key_token_name: { not: null }, ...where } })).map((provider) => ({
        holder: { kind: 'provider', id: provider.id },
        saved_by: provider.created_by,
        token_references: tokenReferences.provider(provider),
      })),
    custom_tool: async (where) =>
      (await prisma.customTool.findMany({ where })).map((tool) => ({
        holder: { kind: 'custom_tool', id: tool.id },
        saved_by: tool.created_by,
        token_references: tokenReferences.custom_tool(tool as never),
      })),
    mcp_server: async (where) =>
      (await mcpServers.listOpened(where)).map((server) => ({
        holder: { kind: 'mcp_server', id: server.id },
        saved_by: server.created_by,
        token_references: tokenReferences.mcp_server(server),
      })),
    knowledge_source: async (where) =>
      (await knowledgeSources.listOpened(where)).map((source) => ({
        holder: { kind: 'knowledge_source', id: source.id },
        saved_by: source.created_by,
        token_references: tokenReferences.knowledge_source(source),
      })),
    async workflow(where) {
      const naming = { OR: [{ repo_token_name: { not: null } }, { credential_overrides: { not: {} } }] };
      const workflows = await prisma.workflow.findMany({ where: { AND: [naming, where] } });
      return Promise.all(
        workflows.map(async (workflow) => ({
          holder: { kind: 'workflow' as const, id: workflow.id },
          saved_by: workflow.owner,
          token_references: tokenReferences.workflow(workflow, await listTools(workflow.agent_id)),
        })),
      );
    },
  };

  const all = async (where: Partial<Record<SecretHolder, object>> = {}) =>
    (await Promise.all(Object.entries(readers).map(([kind, read]) => read(where[kind as SecretHolder] ?? {})))).flat();

  return {
    all: () => all(),
    listAsking: (kind: SecretHolder, ids: readonly string[]): Promise<Asking[]> => readers[kind]({ id: { in: [...ids] } }),
    /** Lists the requests of resources for a token. Workflows are private, so those of other users are left out. */
    asking: async (token: string, owner: string): Promise<TokenReference[]> =>
      (await all({ workflow: { owner }, provider: { api_key_token_name: token } }))
        .flatMap(({ token_references }) => token_references)
        .filter((one) => one.token === token),
  };
}
