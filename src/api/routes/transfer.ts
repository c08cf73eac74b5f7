import type { z } from 'zod';
import type { Agent } from '../../contracts/agents.ts';
import type { Warning } from '../../contracts/common.ts';
import { KnowledgeSourceCreate } from '../../contracts/knowledge.ts';
import { BUNDLE_VERSION, bundle, EXPORTED, type ResourceType, type Transfer, transfers } from '../../contracts/transfer.ts';
import { AppError, foreign, notFound } from '../../domain/errors.ts';
import type { Judge } from '../../guardrails/judge.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Store } from '../../store/index.ts';
import type { FaultOf, ImportParts, PartName } from '../../store/resources/transfer-drafts.ts';
import { guardDoubtsOf, guardFaults } from '../checks/agent-guards.ts';
import { agentTagDoubts, workflowTagDoubts } from '../checks/unjoined.ts';
import { hostedFaults } from '../hosted-tools.ts';
import { type Api, mount } from '../http/mount.ts';
import { toReply } from '../http/validate.ts';
import type { Warnings } from '../http/warnings.ts';
import { unknownBuiltins } from './agents.ts';
import { configCheck, type GuardrailLimits, guardDoubts } from './guardrails.ts';
import { connectionDoubts } from './knowledge.ts';
import { recurrenceFault } from './recurrence.ts';

interface Services {
  store: Store;
  judge: Judge;
}

const PART: Record<ResourceType, PartName> = {
  skill: 'skills',
  guardrail: 'guardrails',
  agent: 'agents',
  workflow: 'workflows',
  knowledge_source: 'knowledge_sources',
  scheduled_agent: 'scheduled_agents',
};

export function transferRoutes(api: Api, { store, judge }: Services, limits: GuardrailLimits): void {
  const importing = importOf(store, itemFaults(store, configCheck(judge, limits), judge));
  for (const type of Object.keys(transfers) as ResourceType[]) resourceTransfer(api, { store, importing }, type);
  const exported = exporter(store);
  mount(api, bundle.export, async (_, caller) => {
    const [skills, guardrails, agents, workflows, knowledge_sources, scheduled_agents] = await Promise.all([
      exported('skill', caller),
      exported('guardrail', caller),
      exported('agent', caller),
      exported('workflow', caller),
      exported('knowledge_source', caller),
      exported('scheduled_agent', caller),
    ]);
    const owned = { workflows, scheduled_agents };
    return { ...head(), resource_type: 'bundle' as const, skills, guardrails, agents, knowledge_sources, ...owned };
  });
  mount(api, bundle.import, ({ body, query, strict, warn }, caller) => importing({ strict, warn })(body, query, caller));
}

function resourceTransfer(
  api: Api,
  { store, importing }: { store: Store; importing: ReturnType<typeof importOf> },
  type: ResourceType,
): void {
  const endpoints: Transfer = transfers[type];
  const part = PART[type];
  const exported = exporter(store);
  mount(api, endpoints.exportAll, async (_, caller) => {
    return { ...head(), resource_type: type, items: await exported(type, caller) };
  });
  mount(api, endpoints.exportOne, async ({ params: { id } }, caller) => {
    return { ...head(), resource_type: type, items: await exported(type, caller, id) };
  });
  mount(api, endpoints.import, async ({ body, query, strict, warn }, caller) => {
    return (await importing({ strict, warn })({ [part]: body.items }, { ...query, names: { [part]: 'items' } }, caller))[part];
  });
}

/** An import learns its doubts while it writes: with strict handling it is tried first. */
const importOf =
  (store: Store, faultsOf: ReturnType<typeof itemFaults>) =>
  ({ strict, warn }: Pick<Warnings, 'strict' | 'warn'>) =>
  async (given: ImportParts, { dry_run, names = {} }: Importing, importer: Caller) => {
    const { agents, doubts } = await pinnedAgents(store, given.agents ?? [], importer);
    const parts = { ...given, agents };
    const faults = await faultsOf(parts, importer);
    warn(
      ...itemDoubts(parts, names),
      ...(await tagDoubts(store, parts, { names, importer })),
      ...placed(names.agents ?? 'agents', doubts),
    );
    const faultOf: FaultOf = (item) => faults.get(item) ?? null;
    if (strict) {
      const tried = await store.transfer.import(parts, { importer, dry_run: true, faultOf });
      warn(...Object.values(tried).flatMap(({ warnings }) => warnings));
    }
    return store.transfer.import(parts, { importer, dry_run, faultOf });
  };

/** Warnings about imported agents and workflows whose tags do not join what other people made here. */
async function tagDoubts(
  store: Store,
  parts: ImportParts,
  { names = {}, importer }: Pick<Importing, 'names'> & { importer: Caller },
) {
  const placed = async <T extends object>(part: PartName, items: readonly T[], doubtsOf: (item: T) => Promise<Warning[]>) =>
    (await Promise.all(items.map(doubtsOf))).flatMap((found, index) =>
      found.map(({ path, message }) => ({ path: `${names[part] ?? part}.${index}.${path}`, message })),
    );
  const { agents = [], workflows = [] } = parts as { agents?: object[]; workflows?: object[] };
  return [
    ...(await placed('agents', agents, (item) => agentTagDoubts(store, { ...item, created_by: importer.key }))),
    ...(await placed('workflows', workflows, (item) => workflowTagDoubts(store, { ...item, owner: importer.key }))),
  ];
}

interface Importing {
  dry_run: boolean;
  /** The request's name of a part, if it differs from the part's name. */
  names?: { [part in PartName]?: string };
}

/** Warnings about valid items that may not do what their author means. */
function itemDoubts({ guardrails = [], knowledge_sources = [] }: ImportParts, names: Importing['names'] = {}): Warning[] {
  return [
    ...placed(names.guardrails ?? 'guardrails', guardrails.map(guardDoubts)),
    ...placed(names.knowledge_sources ?? 'knowledge_sources', knowledge_sources.map(importedDoubts)),
  ];
}

/** The warnings about the items of a part, at the part's place. */
const placed = (part: string, doubts: Warning[][]): Warning[] =>
  doubts.flatMap((found, index) => found.map(({ path, message }) => ({ path: `${part}.${index}.${path}`, message })));

/** Agents with their guards pinned to the tools that there are, before the import begins. */
async function pinnedAgents(store: Store, given: NonNullable<ImportParts['agents']>, { key }: Caller) {
  const agents: typeof given = [];
  const doubts: Warning[][] = [];
  for (const agent of given) {
    const values = agent as Partial<Agent>;
    const { guards } = await store.agents.judgeGuards(values, key);
    agents.push(Object.assign({}, agent, { approval_guards: guards }));
    doubts.push(await guardDoubtsOf(store, values, key));
  }
  return { agents, doubts };
}

const importedDoubts = ({ source_type: given, connection_config }: ImportedSource): Warning[] => {
  const source_type = KnowledgeSourceCreate.shape.source_type.safeParse(given).data;
  return source_type ? connectionDoubts({ source_type, connection_config }) : [];
};
type ImportedSource = NonNullable<ImportParts['knowledge_sources']>[number];

type CheckGuardrail = ReturnType<typeof configCheck>;

/** What is wrong with items beyond their types. Judged before the import begins, which holds a transaction. */
const itemFaults = (store: Store, check: CheckGuardrail, judge: Judge) => async (parts: ImportParts, importer: Caller) => {
  const faults = new Map<object, string>();
  for (const agent of parts.agents ?? []) {
    const values = agent as Partial<Agent>;
    const [fault] = [
      ...unknownBuiltins(values),
      ...(await hostedFaults(store, { ...values, approval_guards: [] }, null)),
      ...(await guardFaults(store, { ...values, approval_guards: [] }, importer.key)),
    ];
    if (fault) faults.set(agent, `${fault.path}: ${fault.message}`);
  }
  for (const guardrail of parts.guardrails ?? []) {
    try {
      await check({ ...(guardrail as ReturnType<typeof EXPORTED.guardrail.parse>), created_by: importer.key });
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      faults.set(guardrail, error.message);
    }
  }
  for (const workflow of parts.workflows ?? []) {
    const { output_schema } = workflow as ReturnType<typeof EXPORTED.workflow.parse>;
    const fault = output_schema && (await judge.schemaFault(output_schema, importer.key));
    if (fault) faults.set(workflow, `output_schema: ${fault}`);
  }
  for (const schedule of parts.scheduled_agents ?? []) {
    const fault = recurrenceFault(schedule);
    if (fault) faults.set(schedule, fault);
  }
  return faults;
};

const head = () => ({ version: BUNDLE_VERSION, exported_at: new Date().toISOString() });

type Exported<T extends ResourceType> = z.output<(typeof EXPORTED)[T]>;

/** Records in their exported shape: of owned resources only the caller's; only one record if an id is given. */
const exporter =
  (store: Store) =>
  async <T extends ResourceType>(type: T, caller: Caller, id?: string): Promise<Exported<T>[]> => {
    const noun = type.replaceAll('_', ' ');
    const owned = type === 'workflow' || type === 'scheduled_agent';
    const records = await store.transfer.records(type, id ? { id } : owned ? { owner: caller.key } : {});
    const found = type === 'agent' ? await store.agents.shownRows(records) : records;
    if (id && found.length === 0) throw notFound(noun, id);
    if (id && owned && (found[0] as { owner?: string }).owner !== caller.key) throw foreign(noun);
    const reply: z.ZodType<unknown> = EXPORTED[type];
    return found.map((record) => toReply(reply, store.transfer.masked(record)) as Exported<T>);
  };
