import { z } from 'zod';
import { AgentCreate } from './agents.ts';
import { QueryFlag, Warning } from './common.ts';
import { endpoint, IdParams } from './endpoint.ts';
import { StoredFallbacks } from './fallbacks.ts';
import { GuardrailCreate } from './guardrails.ts';
import { KnowledgeSourceCreate } from './knowledge.ts';
import { ScheduledAgentCreate } from './scheduled-agents.ts';
import { SkillCreate } from './skills.ts';
import { WorkflowCreate } from './workflows.ts';

export const BUNDLE_VERSION = '1.0';

/** The most schedules in one import. They have more fields to check than other items, and a request must not delay others. */
const MOST_SCHEDULES = 2_500;

const Version = z.string().regex(/^1\.\d+$/, 'This service reads bundles of version 1.x');
const Ids = z.array(z.string()).default([]);
const ExportedId = z
  .string()
  .optional()
  .meta({
    description:
      'Of the exported record. An import gives it to the new record if it is free, so that references hold. References of the same bundle ' +
      'to an id that cannot be one here lead to the new record',
  });

export const ExportedSkill = z.object({ id: ExportedId, ...SkillCreate.shape }).meta({ id: 'ExportedSkill' });
/** Ids are not checked: the record they name may be imported later, or exist only in another installation. */
export const ExportedAgent = z
  .object({
    id: ExportedId,
    ...AgentCreate.shape,
    mcp_server_ids: Ids,
    custom_tool_ids: Ids,
    knowledge_source_ids: Ids,
    required_mcp_servers: Ids,
    provider_id: z.string().nullable().default(null),
    fallbacks: StoredFallbacks,
  })
  .meta({ id: 'ExportedAgent' });
export const ExportedWorkflow = z
  .object({ id: ExportedId, ...WorkflowCreate.shape, agent_id: z.string(), skill_ids: Ids, guardrail_ids: Ids })
  .meta({ id: 'ExportedWorkflow' });
export const ExportedKnowledgeSource = z
  .object({ id: ExportedId, ...KnowledgeSourceCreate.shape, source_type: z.string().meta({ example: 'builtin' }) })
  .meta({ id: 'ExportedKnowledgeSource', description: 'The source without its items; secrets are masked' });

const ExportedGuardrail = z.object({ id: ExportedId, ...GuardrailCreate.shape }).meta({ id: 'ExportedGuardrail' });

const ExportedScheduledAgent = z
  .object({ id: ExportedId, ...ScheduledAgentCreate.shape, workflow_id: z.string() })
  .meta({ id: 'ExportedScheduledAgent', description: 'An imported schedule is disabled until its owner enables it' });

/**
 * The kinds that can be exported, in the order of an import: agents before the workflows that name them, workflows before their
 * schedules.
 */
export const EXPORTED = {
  skill: ExportedSkill,
  guardrail: ExportedGuardrail,
  agent: ExportedAgent,
  workflow: ExportedWorkflow,
  knowledge_source: ExportedKnowledgeSource,
  scheduled_agent: ExportedScheduledAgent,
} as const;
export type ResourceType = keyof typeof EXPORTED;

export const ImportResult = z
  .object({
    created: z.int(),
    errors: z.array(z.string()).meta({
      description:
        'One message for each item that was not created, or was created without references that cannot be ids here; it names them',
    }),
    ids: z.array(z.string()),
    warnings: z.array(Warning).meta({ description: 'What was ignored, such as unknown fields' }),
  })
  .meta({ id: 'ImportResult' });
export type ImportResult = z.output<typeof ImportResult>;

const ImportQuery = z.object({
  dry_run: QueryFlag('Report what would be done, and do nothing'),
});

const head = { version: Version, exported_at: z.iso.datetime({ offset: true }) };
const tag = 'Export and import';

function buildTransferEndpoints<I extends z.ZodType>(
  type: ResourceType,
  { path, noun, item }: { path: string; noun: string; item: I },
) {
  const title = noun.replaceAll(/(?:^| )(\w)/g, (_, letter: string) => letter.toUpperCase());
  const bundle = z.object({ ...head, resource_type: z.literal(type), items: z.array(item) }).meta({ id: `${title}ExportBundle` });
  const name = noun.replaceAll(' ', '_');
  const is_owned = type === 'workflow' || type === 'scheduled_agent';
  return {
    type,
    exportAll: endpoint(`GET ${path}/export` as 'GET /', {
      operation: `export_${name}s`,
      audited: true,
      tag,
      summary: `Export all ${noun}s`,
      reply: bundle,
    }),
    exportOne: endpoint(`GET ${path}/{id}/export` as 'GET /', {
      operation: `export_${name}`,
      audited: true,
      tag,
      summary: `Export one ${noun}`,
      params: IdParams,
      reply: bundle,
      refuses: is_owned ? [403] : [],
    }),
    import: endpoint(`POST ${path}/import` as 'POST /', {
      operation: `import_${name}s`,
      tag,
      summary: `Import ${noun}s`,
      description: 'Answers 201 even if items fail: `errors` lists them with the reason. Accepts an export bundle unchanged.',
      query: ImportQuery,
      body: z
        .object({
          version: Version.optional(),
          exported_at: z.iso.datetime({ offset: true }).optional(),
          resource_type: z.literal(type).optional(),
          items: z.array(item).max(type === 'scheduled_agent' ? MOST_SCHEDULES : 10_000),
        })
        .meta({
          id: `${title}Import`,
          description: 'Items as an export bundle holds them',
          example: { version: '1.0', items: [] },
        }),
      reply: ImportResult,
      status: 201,
      large: true,
      shared: !is_owned,
    }),
  };
}

export type Transfer = ReturnType<typeof buildTransferEndpoints<z.ZodType>>;

export const transfers = {
  skill: buildTransferEndpoints('skill', { path: '/api/skills', noun: 'skill', item: ExportedSkill }),
  guardrail: buildTransferEndpoints('guardrail', { path: '/api/guardrails', noun: 'guardrail', item: ExportedGuardrail }),
  agent: buildTransferEndpoints('agent', { path: '/api/agents', noun: 'agent', item: ExportedAgent }),
  workflow: buildTransferEndpoints('workflow', { path: '/api/workflows', noun: 'workflow', item: ExportedWorkflow }),
  knowledge_source: buildTransferEndpoints('knowledge_source', {
    path: '/api/knowledge-sources',
    noun: 'knowledge source',
    item: ExportedKnowledgeSource,
  }),
  scheduled_agent: buildTransferEndpoints('scheduled_agent', {
    path: '/api/scheduled-agents',
    noun: 'scheduled agent',
    item: ExportedScheduledAgent,
  }),
};

const parts = {
  skills: z.array(ExportedSkill),
  guardrails: z.array(ExportedGuardrail),
  agents: z.array(ExportedAgent),
  workflows: z.array(ExportedWorkflow),
  knowledge_sources: z.array(ExportedKnowledgeSource),
  scheduled_agents: z.array(ExportedScheduledAgent),
};

export const FullExportBundle = z
  .object({ ...head, resource_type: z.literal('bundle'), ...parts })
  .meta({ id: 'FullExportBundle' });

export const FullImport = z
  .object({
    version: Version,
    exported_at: z.iso.datetime({ offset: true }).optional(),
    resource_type: z.literal('bundle').default('bundle'),
    skills: parts.skills.max(10_000).default([]),
    guardrails: parts.guardrails.max(10_000).default([]),
    agents: parts.agents.max(10_000).default([]),
    workflows: parts.workflows.max(10_000).default([]),
    knowledge_sources: parts.knowledge_sources.max(10_000).default([]),
    scheduled_agents: parts.scheduled_agents.max(MOST_SCHEDULES).default([]),
  })
  .meta({ id: 'FullImport', example: { version: '1.0', skills: [{ name: 'politeness', instructions: 'Thank the reader.' }] } });
export type FullImport = z.output<typeof FullImport>;

export const BundleImportResult = z
  .object({
    skills: ImportResult,
    agents: ImportResult,
    workflows: ImportResult,
    knowledge_sources: ImportResult,
    guardrails: ImportResult,
    scheduled_agents: ImportResult,
  })
  .meta({ id: 'BundleImportResult' });
export type BundleImportResult = z.output<typeof BundleImportResult>;

export const bundle = {
  export: endpoint('GET /api/export', {
    operation: 'export_everything',
    audited: true,
    tag,
    summary: "Export skills, guardrails, agents, the caller's workflows and schedules, and knowledge sources",
    reply: FullExportBundle,
  }),
  import: endpoint('POST /api/import', {
    operation: 'import_everything',
    tag,
    summary: 'Import a full bundle',
    description:
      'Skills, guardrails and knowledge sources first, then agents, workflows and schedules. Items that fail are listed one by one. A workflow whose skills or ' +
      'guardrails do not exist here is created inactive, with a warning. Schedules are created disabled.',
    query: ImportQuery,
    body: FullImport,
    reply: BundleImportResult,
    status: 201,
    large: true,
  }),
};
