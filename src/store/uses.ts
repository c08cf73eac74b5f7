import type { PrismaClient } from '../generated/prisma/client.ts';

/** The columns that refer to a table's records, as one id or a list of ids. */
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

/** Enough users to know what to change. */
const MOST = 10;

interface Found {
  id: string;
  name?: string;
  title?: string | null;
}

/** What refers to a record, as `agent name` or `workflow title`. Other users' workflows are only counted. */
export async function usersOf(
  prisma: PrismaClient,
  { table, id }: { table: Used; id: string },
  viewer: string,
): Promise<string[]> {
  const users: string[] = [];
  let others = 0;
  for (const use of USES[table]) {
    const where = { [use.column]: 'list' in use ? { has: id } : id };
    const model = prisma[use.by] as unknown as Counted;
    const own = use.by === 'workflow' ? { ...where, owner: viewer } : where;
    const found = await model.findMany({ where: own, orderBy: { id: 'asc' }, take: MOST });
    users.push(...found.map((user) => `${use.by} ${user.name ?? user.title ?? user.id}`));
    if (use.by === 'workflow') others += await model.count({ where: { ...where, owner: { not: viewer } } });
  }
  return [...[...new Set(users)].slice(0, MOST), ...countOfOthers(others)];
}

interface Counted {
  findMany(args: object): Promise<Found[]>;
  count(args: object): Promise<number>;
}

/** Names and owners of other users' workflows are private. */
export const countOfOthers = (count: number): string[] =>
  count === 0 ? [] : [count === 1 ? 'a workflow of someone else' : `${count} workflows of others`];
