import { type Agent, agents, listReferenceWarnings } from '../../contracts/agents.ts';
import type { BuiltinTool } from '../../contracts/builtin-tools.ts';
import type { Warning } from '../../contracts/common.ts';
import { getDefaultModel } from '../../domain/definition.ts';
import type { FieldError } from '../../domain/errors.ts';
import { isHosted } from '../../domain/hosted-tools.ts';
import { isUuid } from '../../domain/uuid.ts';
import type { RowFilter } from '../../store/database/resource.ts';
import type { Store } from '../../store/index.ts';
import type { StoredAgent } from '../../store/resources/agents.ts';
import type { Dispatch } from '../../temporal/start/orders.ts';
import { builtinSpecs } from '../../tools/builtin/index.ts';
import { listGuardErrors, listGuardWarnings } from '../checks/agent-guards.ts';
import { listFallbackErrors, listFallbackWarnings } from '../checks/fallbacks.ts';
import { haltAll } from '../checks/halts.ts';
import { listHostedToolErrors } from '../checks/hosted-tools.ts';
import { findAgentModel, listModelWarnings } from '../checks/model-warnings.ts';
import type { LimitChecks } from '../checks/priced-limits.ts';
import { listReferenceErrors } from '../checks/references.ts';
import { listToolTokenWarnings } from '../checks/tool-tokens.ts';
import { listAgentTagWarnings } from '../checks/unjoined.ts';
import { mountCrud, type SharedWrite } from '../http/crud.ts';
import { findNearest } from '../http/fields.ts';
import type { Api } from '../http/mount.ts';

interface Services {
  store: Store;
  dispatch: Pick<Dispatch, 'halt'>;
  builtin_tools: BuiltinTool[];
  dollar_limits: LimitChecks;
}

const HALTING = 'The chats with this agent are being halted; repeat the request in a moment';

const REFERENCES = {
  provider_id: 'provider',
  custom_tool_ids: 'customTool',
  mcp_server_ids: 'mcpServer',
  required_mcp_servers: 'mcpServer',
  knowledge_source_ids: 'knowledgeSource',
} as const;

export function agentRoutes(
  api: Api,
  { store, dispatch, builtin_tools, dollar_limits }: Services,
  shared_write: SharedWrite,
): void {
  const list = ({ tag, tags, ...filter }: RowFilter) =>
    store.agents.list(filter, toTagFilter([tag, ...(tags?.split(',') ?? [])]));
  mountCrud(api, agents, {
    store: {
      ...store.agents,
      async remove(id) {
        await haltAll(dispatch, () => store.chats.listLive({ agent_id: id }), HALTING);
        await store.removeAgent(id);
      },
    },
    list,
    shared_write,
    async check(values, caller, { id }) {
      const before = id ? await store.agents.find(id) : null;
      return listAgentErrors(store, values, { before, by: caller.key });
    },
    listWarnings: async (agent, caller) => [
      ...listReferenceWarnings(agent),
      ...listToolWarnings(agent, builtin_tools),
      ...(await listAgentTagWarnings(store, { created_by: caller.key, ...agent })),
      ...(await listGuardWarnings(store, agent, caller.key)),
      ...listModelWarnings(await findAgentModel(store, agent), 'model'),
      ...(await dollar_limits.listBrokenLimits({ agent }, caller)),
      ...(await dollar_limits.budgets.listOfChanged({ agent }, caller)),
      ...(await listFallbackWarnings(store, agent, caller)),
    ],
    listRunWarnings: (agent, caller) => listToolTokenWarnings(store, agent, caller),
    users: ({ id }, { key }) => store.usersOf('agent', id, key),
  });
}

/** The state of saving an agent: the record to change, and the person who changes it. */
interface SavingAgent {
  before: StoredAgent | null;
  by: string;
}

/** Lists the records that an agent refers to and this installation lacks, and faults of the agent itself. */
export const listAgentErrors = async (
  store: Store,
  values: Partial<Agent>,
  { before, by }: SavingAgent,
): Promise<FieldError[]> => [
  ...listBuiltinErrors(values),
  ...(await listHostedToolErrors(store, values, before)),
  ...(await listReferenceErrors(store, values, REFERENCES, before)),
  ...(await listOwnFallbackErrors(store, values, before)),
  ...(values.approval_tools ? await listGuardErrors(store, { ...before, ...values }, by) : []),
];

async function listOwnFallbackErrors(store: Store, values: Partial<Agent>, before: StoredAgent | null): Promise<FieldError[]> {
  const { fallbacks = [], provider_id = null, model = null } = { ...before, ...values };
  if (fallbacks.length === 0) return [];
  const provider = provider_id !== null && isUuid(provider_id) ? await store.providers.find(provider_id) : null;
  const own_model = model ?? (provider && getDefaultModel(provider));
  return listFallbackErrors(store, { fallbacks, provider, provider_id, model: own_model }, before?.fallbacks);
}

/** Returns the filter for tags. Agents have no tags: they match by the tags that add resources to them. */
function toTagFilter(tags: (string | undefined)[]): object {
  const names = tags.map((name) => name?.trim()).filter(Boolean);
  return names.length > 0 ? { OR: [{ mcp_server_tags: { hasSome: names } }, { knowledge_tags: { hasSome: names } }] } : {};
}

const BUILTINS = builtinSpecs().map(({ name }) => name);

export function listBuiltinErrors({ builtin_tools = [] }: Partial<Agent>): FieldError[] {
  return builtin_tools
    .map((name, index) => ({ name, path: `builtin_tools.${index}` }))
    .filter(({ name }) => !BUILTINS.includes(name))
    .map(({ name, path }) => {
      const near = findNearest(name, BUILTINS);
      const hint = near ? `did you mean \`${near.name}\`?` : `there are ${BUILTINS.join(', ')}`;
      return { path, message: `There is no built-in tool named \`${name}\`; ${hint}` };
    });
}

/** Warns about tools that a run of this agent would not get, or would get under another name. */
function listToolWarnings(agent: Partial<Agent>, available_tools: BuiltinTool[]): Warning[] {
  const { custom_tool_ids = [], provider_id, builtin_tools = [], tool_definitions = [] } = agent;
  const skipped =
    custom_tool_ids.length > 0 && !provider_id
      ? [
          {
            path: 'custom_tool_ids',
            message: 'The default runtime takes no custom tools: runs skip them. Give the agent a `provider_id`',
          },
        ]
      : [];
  const missing_tools = builtin_tools.filter(
    (name) => BUILTINS.includes(name) && !available_tools.some((tool) => tool.name === name),
  );
  const functions = tool_definitions.flatMap((tool) => (isHosted(tool) ? [] : [tool.function.name]));
  const hosted_names = tool_definitions.flatMap((tool) => (isHosted(tool) ? [tool.name] : []));
  const duplicate_names = functions.filter((name) => builtin_tools.includes(name));
  return [
    ...skipped,
    ...missing_tools.map((name) => ({
      path: 'builtin_tools',
      message: `\`${name}\` is not configured in this installation: runs go without it`,
    })),
    ...duplicate_names.map((name) => ({
      path: 'tool_definitions',
      message: `\`${name}\` is also a built-in tool of this agent; this one is offered as defined_${name}`,
    })),
    ...hosted_names
      .filter((name) => builtin_tools.includes(name))
      .map((name) => ({
        path: 'builtin_tools',
        message: `\`${name}\` is also a tool that the provider of this agent runs; this one is offered as builtin_${name}`,
      })),
  ];
}
