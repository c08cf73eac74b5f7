import { z } from 'zod';
import { FilterQuery, Id, JsonRecord, Name, protective, Tags, TOOL_EFFECTS, toPatchSchema, type Warning } from './common.ts';
import { crud } from './endpoint.ts';
import { FallbackFields, StoredFallbacks } from './fallbacks.ts';
import { ModelName } from './model-name.ts';
import { ToolDefinition } from './tool-definitions.ts';

const Ids = z.array(Id).default([]);

export const AgentCreate = z
  .object({
    name: Name.meta({ example: 'researcher' }),
    description: z.string().default(''),
    system_prompt: z.string().default('You are a helpful assistant.'),
    model: ModelName.meta({ description: "Null: the provider's default model" }),
    mcp_server_ids: Ids,
    mcp_server_tags: Tags,
    custom_tool_ids: Ids,
    builtin_tools: z
      .array(z.string())
      .default([])
      .meta({ description: 'Names from GET /api/builtin-tools', example: ['manage_todo_list'] }),
    tool_definitions: z.array(ToolDefinition).default([]),
    knowledge_source_ids: Ids,
    knowledge_tags: Tags,
    approval_tools: protective(z.array(z.string()))
      .default([])
      .meta({
        description:
          'Names of tools whose calls wait for a person. A name guards every tool of the agent that it fits, stays with these tools when ' +
          'they are renamed, and is shown as they are called now. 422 for a name that fits none',
      }),
    approve_effects: protective(z.array(z.enum(TOOL_EFFECTS)))
      .default([])
      .meta({
        description: 'Effects of tools whose calls wait for a person, whatever the tools are called',
        example: ['write'],
      }),
    required_mcp_servers: protective(z.array(Id))
      .default([])
      .meta({ description: 'MCP servers the run cannot do without: if one is unreachable, the run fails' }),
    provider_id: Id.nullable().default(null).meta({ description: 'Null: the default runtime' }),
    ...FallbackFields,
  })
  .meta({ id: 'AgentCreate' });

export const AgentUpdate = toPatchSchema(AgentCreate).meta({ id: 'AgentUpdate' });

/** An id that belongs to no record. An import sets it for a required reference that it had to drop, so that runs are refused. */
export const NO_RECORD = '00000000-0000-7000-8000-000000000000';

/** Returns a warning for each required reference that an import had to drop. */
export const listReferenceWarnings = ({ provider_id, required_mcp_servers = [] }: Partial<Agent>): Warning[] => [
  ...(provider_id === NO_RECORD
    ? [
        {
          path: 'provider_id',
          message: 'The imported provider does not exist here; runs are refused until you set `provider_id`',
        },
      ]
    : []),
  ...(required_mcp_servers.includes(NO_RECORD)
    ? [
        {
          path: 'required_mcp_servers',
          message: 'A required MCP server does not exist here; runs are refused until you set `required_mcp_servers`',
        },
      ]
    : []),
];

/** An imported record may name things that this installation does not have. */
const StoredIds = z.array(z.string());

export const Agent = z
  .object({
    ...JsonRecord,
    ...AgentCreate.shape,
    mcp_server_ids: StoredIds,
    custom_tool_ids: StoredIds,
    knowledge_source_ids: StoredIds,
    required_mcp_servers: StoredIds,
    fallbacks: StoredFallbacks,
  })
  .meta({ id: 'Agent' });
export type Agent = z.output<typeof Agent>;

export const agents = crud(
  { path: '/api/agents', noun: 'agent', tag: 'Agents', shared: true },
  {
    record: Agent,
    create: AgentCreate,
    update: AgentUpdate,
    query: FilterQuery.extend({
      tag: z.string().optional().meta({ description: 'One of its MCP servers’ or knowledge’s tags' }),
      tags: z.string().optional().meta({ description: 'Comma separated; any of them' }),
    }),
  },
);
