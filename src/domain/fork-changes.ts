import { omitUnset, splitSettings } from './call-settings.ts';
import { canonicalJson } from './canonical-json.ts';
import {
  type Definition,
  type ExchangeLimits,
  isVendor,
  type PinnedProvider,
  type PinnedTool,
  pinBuiltins,
} from './definition.ts';
import { type FieldError, unprocessable } from './errors.ts';
import { listHostedTools, runsHosted, whoRuns } from './hosted-tools.ts';

/** A copied message whose text is replaced. */
export interface MessageEdit {
  step: number;
  position: number;
  content: string;
}

/** The fields of agents and workflows that a fork may change, in addition to the settings of model calls. */
interface PinnedFields {
  system_prompt: string;
  provider_id: string | null;
  model: string | null;
  custom_tool_ids: string[];
  builtin_tools: string[];
  mcp_server_ids: string[];
  output_format: string;
  reasoning_effort: string | null;
}

type Optional<T> = { [K in keyof T]?: T[K] | undefined };

/** The changes of a fork; an absent field stays as in the source run. The rest of the fields are settings of model calls. */
export type DefinitionChanges = Optional<PinnedFields> & { messages?: MessageEdit[] | undefined };

/** Returns a definition's values of the fields that a fork can change. Settings of model calls without a value are missing. */
export function toPinnedFields({ agent, provider, model, settings, tools, mcp_servers = [] }: Definition): PinnedFields {
  const { output_format, reasoning_effort } = settings;
  return {
    system_prompt: agent.system_prompt,
    provider_id: provider?.id ?? null,
    model,
    custom_tool_ids: tools.flatMap((tool) => (tool.kind === 'custom' && tool.id ? [tool.id] : [])),
    builtin_tools: tools.flatMap((tool) => (tool.kind === 'builtin' ? [tool.name] : [])),
    mcp_server_ids: mcp_servers.map(({ id }) => id),
    output_format,
    reasoning_effort,
    ...splitSettings(settings).call_settings,
  };
}

export type PinnedCustomTool = Extract<PinnedTool, { kind: 'custom' }>;

/** The current state of the parts that the changes refer to and the source run does not have. */
export interface ForkParts {
  /** The provider; null if there is none with the id. */
  provider: PinnedProvider | null;
  /** The limits of the provider and the workflow. */
  exchange_limits: ExchangeLimits | null;
  tools: PinnedCustomTool[];
  /** The names of tools that are disabled. */
  disabled: string[];
}

/** Lists the ids of the parts to read before a definition can be changed. */
export function listMissingParts(source: Definition, { provider_id, custom_tool_ids = [] }: DefinitionChanges) {
  const pinned_fields = toPinnedFields(source);
  return {
    provider_id: provider_id && provider_id !== pinned_fields.provider_id ? provider_id : null,
    custom_tool_ids: custom_tool_ids.filter((id) => !pinned_fields.custom_tool_ids.includes(id)),
  };
}

/** Returns the definition of a fork: the source's if nothing differs. Throws if a fork cannot have one of the changes. */
export function changeDefinition(source: Definition, changes: DefinitionChanges, parts: ForkParts): Definition {
  const errors = listChangeErrors(source, changes, parts);
  if (errors.length > 0) throw unprocessable(errors);
  const { agent, settings } = source;
  const { system_prompt = agent.system_prompt } = changes;
  const { output_format = settings.output_format, reasoning_effort = settings.reasoning_effort } = changes;
  const { loop, call_settings } = splitSettings(settings);
  const changed_definition: Definition = {
    ...withModel(source, changes, parts),
    ...changeTools(source, changes, parts),
    agent: { ...agent, system_prompt },
    settings: {
      ...loop,
      output_format,
      reasoning_effort,
      ...omitUnset({ ...call_settings, ...omitUndefined(pickCallChanges(changes)) }),
    },
  };
  if (changed_definition.provider && isVendor(changed_definition.provider))
    throw unprocessable([{ path: 'changes.provider_id', message: KEPT_THERE }], 'fork_unsupported');
  const [hosted_tool] = listHostedTools(changed_definition);
  if (hosted_tool && !runsHosted(changed_definition.provider))
    throw unprocessable([{ path: 'changes.provider_id', message: whoRuns(hosted_tool, changed_definition.provider) }]);
  return canonicalJson(changed_definition) === canonicalJson(source) ? source : changed_definition;
}

/** Returns the changed settings of model calls: what is no field of the definition itself. */
function pickCallChanges(changes: DefinitionChanges): object {
  const { system_prompt, provider_id, model, custom_tool_ids, builtin_tools, mcp_server_ids, ...others } = changes;
  const { output_format, reasoning_effort, messages, ...call_changes } = others;
  return call_changes;
}

const omitUndefined = (changes: object) => Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));

const KEPT_THERE =
  'This provider keeps conversations in its own sessions, which cannot start in the middle of one; choose another provider';

function listChangeErrors(source: Definition, changes: DefinitionChanges, parts: ForkParts): FieldError[] {
  const missing_parts = listMissingParts(source, changes);
  const { mcp_server_ids } = toPinnedFields(source);
  const errors: FieldError[] = [];
  const addError = (field: string, message: string) => errors.push({ path: `changes.${field}`, message });
  if (missing_parts.provider_id && !parts.provider) addError('provider_id', `No provider with id ${missing_parts.provider_id}`);
  const missing_ids = missing_parts.custom_tool_ids.filter((tool_id) => !parts.tools.some(({ id }) => id === tool_id));
  if (missing_ids.length > 0) addError('custom_tool_ids', `No custom tool with id ${missing_ids.join(', ')}`);
  if (parts.disabled.length > 0)
    addError('custom_tool_ids', `Disabled: ${parts.disabled.join(', ')}. Enable them or leave them out`);
  const added_ids = (changes.mcp_server_ids ?? []).filter((id) => !mcp_server_ids.includes(id));
  if (added_ids.length > 0)
    addError(
      'mcp_server_ids',
      `The source run has no MCP server ${added_ids.join(', ')}. A fork uses the tools that the source run found, so servers can only be left out`,
    );
  return errors;
}

/**
 * Applies the change of provider or model. Another provider is used as it is now, with its default model unless the changes name
 * one.
 */
function withModel(source: Definition, { provider_id, model }: DefinitionChanges, parts: ForkParts): Definition {
  if (provider_id === undefined || provider_id === (source.provider?.id ?? null)) {
    const own_model = model === undefined ? source.model : (model ?? source.provider?.default_model ?? null);
    return own_model === source.model ? source : { ...withoutFallbacks(source), model: own_model };
  }
  const provider = provider_id === null ? null : parts.provider;
  const { exchange_limits: _, ...rest } = withoutFallbacks(source);
  const limits = parts.exchange_limits ? { exchange_limits: parts.exchange_limits } : {};
  return { ...rest, ...limits, provider, model: model ?? provider?.default_model ?? null };
}

/** Who names a model wants its answer: what stood in for the source's model does not stand in for this one. */
const withoutFallbacks = ({ fallbacks: _, fallback_minutes: __, ...rest }: Definition): Definition => rest;

/**
 * Applies the change of tools. Tools of the source stay as they are pinned. Custom tools pinned without an id, by early versions,
 * cannot be left out.
 */
function changeTools(
  { tools, mcp_servers, settings, tools_left_out }: Definition,
  { custom_tool_ids, builtin_tools, mcp_server_ids }: DefinitionChanges,
  parts: ForkParts,
): Partial<Definition> {
  const of = <K extends PinnedTool['kind']>(kind: K) =>
    tools.filter((tool): tool is Extract<PinnedTool, { kind: K }> => tool.kind === kind);
  const available_tools = [...of('custom'), ...parts.tools];
  const chosen_tools = custom_tool_ids?.map((tool_id) => available_tools.find(({ id }) => id === tool_id)!);
  const custom = chosen_tools ? [...of('custom').filter(({ id }) => id === undefined), ...chosen_tools] : of('custom');
  const builtin = builtin_tools ? pinBuiltins(builtin_tools, settings) : of('builtin');
  return {
    ...(custom_tool_ids || builtin_tools
      ? { tools: [...custom, ...builtin, ...of('definition'), ...of('hosted'), ...of('client')] }
      : {}),
    ...(mcp_servers && mcp_server_ids ? { mcp_servers: mcp_servers.filter(({ id }) => mcp_server_ids.includes(id)) } : {}),
    ...(tools_left_out && custom_tool_ids ? { tools_left_out: [] } : {}),
  };
}
