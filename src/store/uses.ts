import type { PrismaClient } from '../generated/prisma/client.ts';

/** Where a table's records are referred to: by which column of what, as a list of ids or one. */
const USES = {
  agent: [{ by: 'workflow', column: 'agent_id' }],
  provider: [{ by: 'agent', column: 'provider_id' }],
  customTool: [{ by: 'agent', column: 'custom_tool_ids', list: true }],
  mcpServer: [
    { by: 'agent', column: 'mcp_server_ids', list: true },
    { by: 'agent', column: 'required_mcp_servers', list: true },
  ],
  knowledgeSource: [{ by: 'agent', column: 'knowledge_source_ids', list: true }],
  skill: [{ by: 'workflow', column: 'skill_ids', list: true }],
  guardrail: [{ by: 'workflow', column: 'guardrail_ids', list: true }],
} as const;
export type Used = keyof typeof USES;

/** Enough to know what to do. */
const MOST = 10;

interface Found {
  id: string;
  name?: string;
  title?: string | null;
}

/** What refers to a record by its id, as `agent name` or `workflow title`. */
export async function usersOf(prisma: PrismaClient, table: Used, id: string): Promise<string[]> {
  const users: string[] = [];
  for (const use of USES[table]) {
    const where = { [use.column]: 'list' in use ? { has: id } : id };
    const model = prisma[use.by] as unknown as { findMany(args: object): Promise<Found[]> };
    const found = await model.findMany({ where, orderBy: { id: 'asc' }, take: MOST });
    users.push(...found.map((user) => `${use.by} ${user.name ?? user.title ?? user.id}`));
  }
  return [...new Set(users)].slice(0, MOST);
}
