import type { z } from 'zod';
import type { Agent } from '../../contracts/agents.ts';
import type { Warning } from '../../contracts/common.ts';
import { KnowledgeSourceCreate } from '../../contracts/knowledge.ts';
import { BUNDLE_VERSION, bundle, EXPORTED, type ResourceType, type Transfer, transfers } from '../../contracts/transfer.ts';
import { AppError, foreign, notFound } from '../../domain/errors.ts';
import { isUuid } from '../../domain/uuid.ts';
import type { Judge } from '../../guardrails/judge.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Store } from '../../store/index.ts';
import type { FaultOf, ImportParts, PartName } from '../../store/resources/transfer-drafts.ts';
import { listGuardErrors, listGuardWarnings } from '../checks/agent-guards.ts';
import { listHostedToolErrors } from '../checks/hosted-tools.ts';
import { createImportFinders, findAgentModel, listModelWarnings, listWorkflowModelWarnings } from '../checks/model-warnings.ts';
import type { LimitChecks } from '../checks/priced-limits.ts';
import { listAgentTagWarnings, listWorkflowTagWarnings } from '../checks/unjoined.ts';
import { type Api, mount } from '../http/mount.ts';
import { toReply } from '../http/validate.ts';
import type { Warnings } from '../http/warnings.ts';
import { listBuiltinErrors } from './agents.ts';
import { createConfigCheck, type GuardrailLimits, listGuardrailWarnings } from './guardrails.ts';
import { listConnectionWarnings } from './knowledge.ts';
import { findRecurrenceError } from './recurrence.ts';

interface Services {
  store: Store;
  judge: Judge;
  dollar_limits: LimitChecks;
}

const PART: Record<ResourceType, PartName> = {
  skill: 'skills',
  guardrail: 'guardrails',
  agent: 'agents',
  workflow: 'workflows',
  knowledge_source: 'knowledge_sources',
  scheduled_agent: 'scheduled_agents',
};

export function transferRoutes(api: Api, services: Services, limits: GuardrailLimits): void {
  const { store, judge } = services;
  const importing = createImport(store, createErrorFinder(services, createConfigCheck(judge, limits)));
  for (const type of Object.keys(transfers) as ResourceType[]) resourceTransfer(api, { store, importing }, type);
  const exportRecords = createExporter(store);
  mount(api, bundle.export, async (_, caller) => {
    const [skills, guardrails, agents, workflows, knowledge_sources, scheduled_agents] = await Promise.all([
      exportRecords('skill', caller),
      exportRecords('guardrail', caller),
      exportRecords('agent', caller),
      exportRecords('workflow', caller),
      exportRecords('knowledge_source', caller),
      exportRecords('scheduled_agent', caller),
    ]);
    const owned_parts = { workflows, scheduled_agents };
    return { ...createHead(), resource_type: 'bundle' as const, skills, guardrails, agents, knowledge_sources, ...owned_parts };
  });
  mount(api, bundle.import, ({ body, query, strict, warn }, caller) => importing({ strict, warn })(body, query, caller));
}

function resourceTransfer(
  api: Api,
  { store, importing }: { store: Store; importing: ReturnType<typeof createImport> },
  type: ResourceType,
): void {
  const endpoints: Transfer = transfers[type];
  const part = PART[type];
  const exportRecords = createExporter(store);
  mount(api, endpoints.exportAll, async (_, caller) => {
    return { ...createHead(), resource_type: type, items: await exportRecords(type, caller) };
  });
  mount(api, endpoints.exportOne, async ({ params: { id } }, caller) => {
    return { ...createHead(), resource_type: type, items: await exportRecords(type, caller, id) };
  });
  mount(api, endpoints.import, async ({ body, query, strict, warn }, caller) => {
    return (await importing({ strict, warn })({ [part]: body.items }, { ...query, names: { [part]: 'items' } }, caller))[part];
  });
}

/** Creates the import. Its warnings are found only while it writes, so with strict handling it runs as a trial first. */
const createImport =
  (store: Store, findErrors: ReturnType<typeof createErrorFinder>) =>
  ({ strict, warn }: Pick<Warnings, 'strict' | 'warn'>) =>
  async (sent_parts: ImportParts, { dry_run, names = {} }: Importing, importer: Caller) => {
    const { agents, guard_warnings: warnings } = await pinAgents(store, sent_parts.agents ?? [], importer);
    const parts = { ...sent_parts, agents };
    const item_errors = await findErrors(parts, importer);
    warn(
      ...listItemWarnings(parts, names),
      ...(await listUseWarnings(store, parts, { names, importer })),
      ...placeWarnings(names.agents ?? 'agents', warnings),
    );
    const faultOf: FaultOf = (item) => item_errors.get(item) ?? null;
    if (strict) {
      const trial = await store.transfer.import(parts, { importer, dry_run: true, faultOf });
      warn(...Object.values(trial).flatMap(({ warnings }) => warnings));
    }
    return store.transfer.import(parts, { importer, dry_run, faultOf });
  };

/** Warnings about imported agents and workflows: tags that do not join what other people made here, and their models. */
async function listUseWarnings(
  store: Store,
  parts: ImportParts,
  { names = {}, importer: { key } }: Pick<Importing, 'names'> & { importer: Caller },
): Promise<Warning[]> {
  const { agents = [], workflows = [] } = parts as { agents?: ImportedAgent[]; workflows?: ImportedWorkflow[] };
  const finders = createImportFinders(store, agents);
  const agent_warnings = agents.map(async (agent) => [
    ...(await listAgentTagWarnings(store, { ...agent, created_by: key })),
    ...listModelWarnings(await findAgentModel(finders, agent), 'model'),
  ]);
  const workflow_warnings = workflows.map(async (workflow) => [
    ...(await listWorkflowTagWarnings(store, { ...workflow, owner: key })),
    ...(await listWorkflowModelWarnings(finders, workflow)),
  ]);
  return [
    ...placeWarnings(names.agents ?? 'agents', await Promise.all(agent_warnings)),
    ...placeWarnings(names.workflows ?? 'workflows', await Promise.all(workflow_warnings)),
  ];
}

interface Importing {
  dry_run: boolean;
  /** The request's name of a part, if it differs from the part's name. */
  names?: { [part in PartName]?: string };
}

/** Warnings about valid items that may not do what their author means. */
function listItemWarnings({ guardrails = [], knowledge_sources = [] }: ImportParts, names: Importing['names'] = {}): Warning[] {
  return [
    ...placeWarnings(names.guardrails ?? 'guardrails', guardrails.map(listGuardrailWarnings)),
    ...placeWarnings(names.knowledge_sources ?? 'knowledge_sources', knowledge_sources.map(listSourceWarnings)),
  ];
}

/** Returns the warnings about the items of a part, with paths into that part. */
const placeWarnings = (part: string, warnings: Warning[][]): Warning[] =>
  warnings.flatMap((item_warnings, index) =>
    item_warnings.map(({ path, message }) => ({ path: `${part}.${index}.${path}`, message })),
  );

/** Pins the agents' guards to the existing tools before the import begins. */
async function pinAgents(store: Store, sent_agents: NonNullable<ImportParts['agents']>, { key }: Caller) {
  const agents: typeof sent_agents = [];
  const warnings: Warning[][] = [];
  for (const agent of sent_agents) {
    const values = agent as Partial<Agent>;
    const { guards } = await store.agents.judgeGuards(values, key);
    agents.push(Object.assign({}, agent, { approval_guards: guards }));
    warnings.push(await listGuardWarnings(store, values, key));
  }
  return { agents, guard_warnings: warnings };
}

const listSourceWarnings = ({ source_type: sent_type, connection_config }: ImportedSource): Warning[] => {
  const source_type = KnowledgeSourceCreate.shape.source_type.safeParse(sent_type).data;
  return source_type ? listConnectionWarnings({ source_type, connection_config }) : [];
};
type ImportedSource = NonNullable<ImportParts['knowledge_sources']>[number];

type CheckGuardrail = ReturnType<typeof createConfigCheck>;

/** Lists the errors of items beyond their types. It runs before the import begins, which holds a transaction. */
const createErrorFinder = (services: Services, check: CheckGuardrail) => async (parts: ImportParts, importer: Caller) => {
  const { store, judge } = services;
  const item_errors = new Map<object, string>();
  for (const agent of parts.agents!) {
    const values = agent as Partial<Agent>;
    const [error] = [
      ...listBuiltinErrors(values),
      ...(await listHostedToolErrors(store, { ...values, approval_guards: [] }, null)),
      ...(await listGuardErrors(store, { ...values, approval_guards: [] }, importer.key)),
    ];
    if (error) item_errors.set(agent, `${error.path}: ${error.message}`);
  }
  for (const guardrail of parts.guardrails ?? []) {
    try {
      await check({ ...(guardrail as ReturnType<typeof EXPORTED.guardrail.parse>), created_by: importer.key });
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      item_errors.set(guardrail, error.message);
    }
  }
  for (const workflow of parts.workflows ?? []) {
    const { output_schema } = workflow as ReturnType<typeof EXPORTED.workflow.parse>;
    const error = output_schema && (await judge.findSchemaError(output_schema, importer.key));
    if (error) item_errors.set(workflow, `output_schema: ${error}`);
    const limit_error = await findLimitError(services, workflow as ImportedWorkflow, parts.agents!);
    if (limit_error) item_errors.set(workflow, `${limit_error.path}: ${limit_error.message}`);
  }
  for (const schedule of parts.scheduled_agents ?? []) {
    const error = findRecurrenceError(schedule);
    if (error) item_errors.set(schedule, error);
  }
  return item_errors;
};

type ImportedAgent = ReturnType<typeof EXPORTED.agent.parse>;
type ImportedWorkflow = ReturnType<typeof EXPORTED.workflow.parse>;

/** Returns why the limit in dollars of an imported workflow cannot hold. Its agent may be imported with it. */
async function findLimitError({ store, dollar_limits }: Services, workflow: ImportedWorkflow, agents: object[]) {
  const { agent_id } = workflow;
  const stored = isUuid(agent_id) ? await store.agents.find(agent_id) : null;
  const imported = (agents as Partial<Agent>[]).find(({ id }) => id === agent_id);
  return dollar_limits.findLimitError(workflow, stored ?? imported);
}

const createHead = () => ({ version: BUNDLE_VERSION, exported_at: new Date().toISOString() });

type Exported<T extends ResourceType> = z.output<(typeof EXPORTED)[T]>;

/** Returns records in their exported shape: owned resources only of the caller, and only one record if an id is given. */
const createExporter =
  (store: Store) =>
  async <T extends ResourceType>(type: T, caller: Caller, id?: string): Promise<Exported<T>[]> => {
    const noun = type.replaceAll('_', ' ');
    const is_owned = type === 'workflow' || type === 'scheduled_agent';
    const records = await store.transfer.records(type, id ? { id } : is_owned ? { owner: caller.key } : {});
    const rows = type === 'agent' ? await store.agents.toShownRows(records) : records;
    if (id && rows.length === 0) throw notFound(noun, id);
    if (id && is_owned && (rows[0] as { owner?: string }).owner !== caller.key) throw foreign(noun);
    const reply: z.ZodType<unknown> = EXPORTED[type];
    return rows.map((record) => toReply(reply, store.transfer.maskRecord(record)) as Exported<T>);
  };
