import type { PrismaClient } from '../../generated/prisma/client.ts';

/**
 * The columns that refer to a table's records, except in records `without` some values: as one id, as a list of ids, or as the field `key` of a list of objects, which counts only
 * while an evaluation is `running`.
 */
const USES = {
  // Chats are deleted with their agent.
  agent: [{ by: 'workflow', column: 'agent_id', without: { single_use: true, remember: 'thread' } }],
  provider: [
    { by: 'agent', column: 'provider_id' },
    { by: 'agent', column: 'fallbacks', key: 'provider_id' },
    { by: 'provider', column: 'fallbacks', key: 'provider_id' },
    { by: 'evaluation', column: 'graders', key: 'provider_id', running: true },
  ],
  customTool: [
    { by: 'agent', column: 'custom_tool_ids', list: true },
    { by: 'evaluation', column: 'graders', key: 'tool_id', running: true },
  ],
  mcpServer: [
    { by: 'agent', column: 'mcp_server_ids', list: true },
    { by: 'agent', column: 'required_mcp_servers', list: true },
  ],
  knowledgeSource: [{ by: 'agent', column: 'knowledge_source_ids', list: true }],
  skill: [{ by: 'workflow', column: 'skill_ids', list: true }],
  guardrail: [{ by: 'workflow', column: 'guardrail_ids', list: true }],
} as const;
export type Used = keyof typeof USES;

/** The advice added to a running evaluation. */
const ENDS = ' (halt it or wait for its end)';

/** The number of users that are named, enough to know what to change. */
const MOST = 10;

interface Found {
  id: string;
  name?: string;
  title?: string | null;
}

/**
 * The users of records that other people may not see: the column with their owner, and the words for those that are only counted.
 */
const PRIVATE = {
  workflow: { owner: 'owner', one: 'a workflow of someone else', many: 'workflows of others' },
  evaluation: { owner: 'created_by', one: 'an evaluation of someone else', many: 'evaluations of others' },
} as const;
type Words = Pick<(typeof PRIVATE)[keyof typeof PRIVATE], 'one' | 'many'>;

/**
 * Lists the users of a record, as `agent name` or `workflow title`. Other people's workflows and evaluations are only counted.
 */
export async function listReferrers(
  prisma: PrismaClient,
  { table, id }: { table: Used; id: string },
  viewer: string,
): Promise<string[]> {
  const users: string[] = [];
  const others: string[] = [];
  for (const use of USES[table]) {
    const where = whereUsed(use, id);
    const model = prisma[use.by] as unknown as Counted;
    const privacy = use.by === 'agent' || use.by === 'provider' ? null : PRIVATE[use.by];
    const own = privacy ? { ...where, [privacy.owner]: viewer } : where;
    const referrers = await model.findMany({ where: own, orderBy: { id: 'asc' }, take: MOST });
    users.push(
      ...referrers.map((user) => `${use.by} ${user.name ?? user.title ?? user.id}${use.by === 'evaluation' ? ENDS : ''}`),
    );
    if (privacy)
      others.push(...countOfOthers(await model.count({ where: { ...where, [privacy.owner]: { not: viewer } } }), privacy));
  }
  return [...[...new Set(users)].slice(0, MOST), ...others];
}

function whereUsed(use: (typeof USES)[Used][number], id: string): object {
  if ('key' in use)
    return { ...('running' in use ? { status: 'running' } : {}), [use.column]: { array_contains: [{ [use.key]: id }] } };
  return { [use.column]: 'list' in use ? { has: id } : id, ...('without' in use ? { NOT: use.without } : {}) };
}

interface Counted {
  findMany(args: object): Promise<Found[]>;
  count(args: object): Promise<number>;
}

/** Counts the users that belong to other people, whose names and owners are private. */
export const countOfOthers = (count: number, { one, many }: Words = PRIVATE.workflow): string[] => {
  if (count === 0) return [];
  return [count === 1 ? one : `${count} ${many}`];
};
