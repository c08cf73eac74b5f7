import { z } from 'zod';
import { ExchangeLimitFields, Id, ListQuery, Timestamp } from './common.ts';
import { endpoint, IdParams } from './endpoint.ts';
import { BundledDefinition, BundledFallback } from './run-bundles.ts';

const PinnedTool = z.looseObject({ kind: z.enum(['custom', 'builtin', 'definition', 'hosted', 'client']), name: z.string() });

const PinnedServer = z.object({
  id: z.string(),
  name: z.string(),
  transport_type: z.string(),
  connection_config: z.record(z.string(), z.unknown()).meta({ description: 'With its secrets masked' }),
  allowed_tools: z.array(z.string()),
  network: z.boolean(),
  allow_secret_questions: z.boolean().optional(),
  connect_seconds: z.int().optional().meta({ description: 'Absent: 30' }),
  protocol: z.string().optional().meta({ description: 'Absent: auto' }),
  state: z.boolean().optional().meta({ description: 'Absent: false' }),
  paths: z.array(z.string()),
  required: z.boolean(),
});

/** What a version adds to the provider of a bundle. */
const VersionProvider = BundledDefinition.shape.provider.unwrap().extend({
  api_key_token_name: z.string().nullable(),
  base_url: z.string().nullable(),
  auth_type: z.string(),
  azure_api_version: z.string().nullable(),
  azure_deployment: z.string().nullable(),
  context_window: z.int().nullable(),
  price_table: z.record(z.string(), z.unknown()),
});

/** The definition that the runs of a version use. It holds names of stored tokens, never their values. */
const VersionDefinition = BundledDefinition.extend({
  provider: VersionProvider.nullable(),
  fallbacks: z
    .array(
      BundledFallback.extend({
        provider: VersionProvider.optional(),
        exchange_limits: z.object(ExchangeLimitFields).optional(),
      }),
    )
    .optional(),
  knowledge_source_ids: z.array(z.string()).optional(),
  not_joined: z.array(z.string()).optional(),
  tools: z.array(PinnedTool),
  tools_left_out: z.array(z.object({ name: z.string(), reason: z.string() })).optional(),
  mcp_servers: z.array(PinnedServer).optional(),
  webhooks: z.object({ completed: z.string().nullable(), error: z.string().nullable() }),
  repository: z.object({ url: z.string(), branch: z.string().nullable(), token_name: z.string().nullable() }).nullable(),
  exchange_limits: z.object(ExchangeLimitFields).optional(),
}).meta({ id: 'VersionDefinition', description: 'What its runs work with. Secrets are masked' });

export const VersionChange = z
  .object({
    path: z.string(),
    kind: z.enum(['added', 'removed', 'changed', 'reordered']),
    before: z.unknown().optional(),
    after: z.unknown().optional(),
  })
  .meta({ id: 'VersionChange', example: { path: 'settings.max_turns', kind: 'changed', before: 5, after: 20 } });
export type VersionChange = z.output<typeof VersionChange>;

const LastEvaluation = z
  .object({ id: Id, dataset_id: Id, pass_rate: z.number(), completed_at: Timestamp })
  .meta({ id: 'VersionEvaluation' });

export const WorkflowVersion = z
  .object({
    id: Id,
    number: z.int().meta({ description: 'Never given twice; numbers may be missing' }),
    definition_hash: z.string().meta({ description: "Its runs' `definition_hash`" }),
    origin: z.enum(['saved', 'run']).meta({
      description:
        '`saved`: recorded when somebody saved the workflow. `run`: recorded by its first run or evaluation, because the agent or another ' +
        'shared resource had changed, or the prompt overrode a setting',
    }),
    created_by: z.string().meta({ description: 'Login of the person who saved the workflow, or whose run it was' }),
    created_at: Timestamp,
    runs: z.int().meta({ description: 'Without those of evaluations' }),
    last_evaluation: LastEvaluation.nullable().meta({ description: 'The last completed evaluation of the version' }),
    current: z.boolean().meta({ description: 'Whether the next run would use it' }),
    restorable: z.boolean().meta({ description: 'False if only its definition is known: its runs are older than versions' }),
  })
  .meta({ id: 'WorkflowVersion' });
export type WorkflowVersion = z.output<typeof WorkflowVersion>;

const VersionDetail = WorkflowVersion.extend({
  definition: VersionDefinition,
  changes: z
    .array(VersionChange)
    .optional()
    .meta({ description: 'With `against`: from that version to this one, field by field' }),
}).meta({ id: 'WorkflowVersionDetail' });
export type VersionDetail = z.output<typeof VersionDetail>;

export const AGENT_RESTORES = ['keep', 'change', 'copy'] as const;
export type AgentRestore = (typeof AGENT_RESTORES)[number];

const RestoreRequest = z
  .object({
    agent: z
      .enum(AGENT_RESTORES)
      .optional()
      .meta({
        description:
          'What to do if the agent was changed since. `keep`: leave it as it is. `change`: set it back, for everybody who uses it. ' +
          '`copy`: create an agent as it was, for this workflow. Left out: refuse with 409',
      }),
  })
  .meta({ id: 'RestoreRequest', example: { agent: 'copy' } });

const Restored = z
  .object({
    workflow_id: Id,
    agent_id: Id,
    version: z.int().nullable().meta({ description: 'The version that the next run uses; null if that is not recorded yet' }),
    exact: z.boolean().meta({ description: 'Whether the next run works with the same definition as the version' }),
    differences: z.array(VersionChange).meta({
      description: 'What the next run has differently, because it belongs to a skill, a tool or another shared resource',
    }),
  })
  .meta({ id: 'RestoredVersion' });
export type Restored = z.output<typeof Restored>;

const VersionNumber = z.coerce.number().int().min(1).max(2_147_483_647);
const VersionParams = z.object({ id: Id, number: VersionNumber });

const base = { tag: 'Workflows', refuses: [403] };

export const versions = {
  list: endpoint('GET /api/workflows/{id}/versions', {
    ...base,
    operation: 'list_workflow_versions',
    summary: 'List the versions of a workflow, newest first',
    description:
      'A version is one definition that the workflow has had: agent, prompt, model, skills, guardrails, tools and settings. It is ' +
      'recorded when the workflow is saved, and at the latest by the first run that uses it. `GET /api/tasks?workflow_id=…&version=3` ' +
      'lists its runs.',
    params: IdParams,
    query: ListQuery,
    reply: WorkflowVersion,
    kind: 'page',
  }),
  get: endpoint('GET /api/workflows/{id}/versions/{number}', {
    ...base,
    operation: 'get_workflow_version',
    summary: 'Get a version, and what changed since another one',
    params: VersionParams,
    query: z.object({
      against: z
        .union([z.literal('current'), VersionNumber])
        .optional()
        .meta({
          description: 'The number of an earlier version to compare with, or `current`: what the next run would use',
        }),
    }),
    reply: VersionDetail,
    refuses: [403, 409],
  }),
  restore: endpoint('POST /api/workflows/{id}/versions/{number}/restore', {
    ...base,
    operation: 'restore_workflow_version',
    summary: 'Set a workflow back to a version',
    description:
      "Sets the workflow's own fields as they were. The agent is shared, so `agent` says what to do if it was changed since. Skills, " +
      'guardrails, tools, MCP servers, knowledge and providers are used as they are now; `differences` names what that changes.',
    params: VersionParams,
    body: RestoreRequest,
    reply: Restored,
    refuses: [403, 409],
    idempotent: true,
  }),
};
