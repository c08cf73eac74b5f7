import { splitSettings } from '../../domain/call-settings.ts';
import { type Definition, getDefaultModel, isVendor, type ToolSpec } from '../../domain/definition.ts';
import { getDialect } from '../../domain/dialect.ts';
import { listHostedTools } from '../../domain/hosted-tools.ts';
import { divideSettings } from '../../domain/sent-settings.ts';
import { createTaskEvents, type NewEvent } from '../../events/task-events.ts';
import type { SelectedRuntime } from '../../runtimes/select.ts';

interface Given {
  offered: ToolSpec[];
  selected: Pick<SelectedRuntime, 'custom_tools' | 'vendor_tools'>;
}

/** The prefix of MCP servers in the list of resources that do not join. */
const SERVER = 'MCP server ';

export interface StartPorts {
  now(): string;
  /** The model of the default runtime, for runs whose definition names none. */
  default_model: string | null;
}

interface RunStart {
  ports: StartPorts;
  run: { task_id: string };
  definition: Definition;
}

/** Reports what the model of a run is given, and which of its tools and settings it is not. */
export const listStartEvents = (start: RunStart, given: Given): NewEvent[] => [
  ...listToolEvents(start, given),
  ...listSettingEvents(start),
];

/** Reports the settings that the model is not sent. */
export function listSettingEvents({ ports, run, definition }: RunStart): NewEvent[] {
  const { provider, settings } = definition;
  const model = definition.model ?? (provider ? getDefaultModel(provider) : ports.default_model) ?? '';
  const { left_out } = divideSettings(splitSettings(settings).call_settings, {
    model,
    takes: getDialect(provider, model).own_fields,
    in_sessions: provider !== null && isVendor(provider),
  });
  const { log } = createTaskEvents(run.task_id, ports.now);
  return left_out.map(({ setting, reason }) => log('setting_left_out', reason, { setting }));
}

/**
 * Reports the tools of a run, known once its servers have been asked: their number, resources that do not join by tag because
 * another person made them, and the agent's tools that the run lacks, grouped by reason.
 */
function listToolEvents({ ports, run, definition }: RunStart, { offered, selected }: Given): NewEvent[] {
  const { skills, tools, not_joined = [], tools_left_out = [] } = definition;
  const { log } = createTaskEvents(run.task_id, ports.now);
  const { custom_tools, vendor_tools } = selected;
  const hosted_names = [...(vendor_tools?.builtins ?? []), ...listHostedTools(definition).map(({ name }) => name)];
  const servers = vendor_tools?.mcp_server_ids.length ?? 0;
  const names = [...offered.map(({ name }) => name), ...hosted_names];
  const vendor_note = servers > 0 ? `, and those of ${servers} MCP servers at the vendor` : '';
  const not_joined_note = not_joined.length > 0 ? `; not joined by tag, as others made them: ${not_joined.join(', ')}` : '';
  const built = log('context_built', `${skills.length} skills, ${names.length} tools${vendor_note}${not_joined_note}`, {
    tools: names,
    ...(not_joined.length > 0 ? { not_joined } : {}),
  });
  const custom = custom_tools ? [] : tools.filter(({ kind }) => kind === 'custom').map(({ name }) => name);
  const missing_tools = tools.filter(({ kind, name }) => kind === 'builtin' && !names.includes(name)).map(({ name }) => name);
  const left_out = [...Map.groupBy(tools_left_out, ({ reason }) => reason)];
  const groups = [
    ...left_out.map(([reason, group]) => ({ names: group.map(({ name }) => name), reason })),
    { names: custom, reason: 'the default runtime takes no custom tools; give the agent a provider' },
    { names: missing_tools, reason: 'this installation does not have them' },
  ].filter((group) => group.names.length > 0);
  const unjoined_servers = not_joined
    .filter((sentence) => sentence.startsWith(SERVER))
    .map((sentence) => sentence.slice(SERVER.length));
  const reason = 'its tag does not join it, as someone else made it; name its id in the agent';
  return [
    built,
    ...unjoined_servers.map((server) =>
      log('tools_not_offered', `the tools of the MCP server ${server}: ${reason}`, { tools: [], server, reason }),
    ),
    ...groups.map((group) =>
      log('tools_not_offered', `${group.names.join(', ')}: ${group.reason}`, { tools: group.names, reason: group.reason }),
    ),
  ];
}
