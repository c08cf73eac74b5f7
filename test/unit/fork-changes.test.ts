import { describe, expect, it } from 'vitest';
import { ForkChanges } from '../../src/contracts/fork-changes.ts';
import type { Definition, PinnedProvider } from '../../src/domain/definition.ts';
import { changeDefinition, type ForkParts, listMissingParts, toPinnedFields } from '../../src/domain/fork-changes.ts';

const provider = (id: string, more: Partial<PinnedProvider> = {}): PinnedProvider => ({
  ...{ id, name: id, provider_type: 'openai_compatible', api_key_token_name: null, base_url: 'http://x', auth_type: 'bearer' },
  ...{ azure_api_version: null, azure_deployment: null, default_model: `${id} default`, requests_per_minute: null },
  ...{ price_table: {}, context_window: null },
  ...more,
});

const tool = (id: string, name: string, source_code = 'then') => ({
  ...{ kind: 'custom' as const, name, description: '', parameters: {}, effect: 'read' as const, source_code, network: false },
  ...{ env: {}, id, overridden: [] },
});

const server = (id: string) => ({
  ...{
    id,
    name: id,
    transport_type: 'stdio',
    connection_config: {},
    allowed_tools: [],
    network: false,
    paths: [],
    required: false,
  },
});

const SOURCE: Definition = {
  agent: { id: 'agent', name: 'agent', system_prompt: 'Be kind.' },
  workflow: { id: 'workflow', title: null },
  model: 'small',
  provider: provider('near'),
  settings: {
    ...{ max_turns: 5, output_format: 'markdown', reasoning_effort: null, infinite_session: true },
    ...{ bypass_memory: true, auto_memory: false, tsv_tool_results: false, caveman: false },
  },
  skills: [],
  tools: [
    tool('a', 'first'),
    tool('b', 'second'),
    { kind: 'builtin', name: 'read' },
    { ...{ name: 'mine', description: '', parameters: {}, effect: 'read' as const }, kind: 'definition' },
  ],
  mcp_servers: [server('one'), server('two')],
  approval_tools: [],
  webhooks: { completed: null, error: null },
  repository: null,
  budget: { max_cost_usd: 1, max_tokens: null, max_seconds: null, on_exhausted: 'halt' },
};

const NOTHING: ForkParts = { provider: null, exchange_limits: null, tools: [], disabled: [] };
const changed = (changes: Parameters<typeof changeDefinition>[1], parts: Partial<ForkParts> = {}) =>
  changeDefinition(SOURCE, changes, { ...NOTHING, ...parts });
const faults = (work: () => unknown) => {
  try {
    return work();
  } catch (error) {
    return (error as { errors: object }).errors;
  }
};

/** A value for each field that can be changed, and what follows from it. The others are settings of model calls, which are only carried. */
const SAMPLES: Record<string, { change: object; parts?: Partial<ForkParts>; also?: object }> = {
  system_prompt: { change: { system_prompt: '' } },
  provider_id: {
    change: { provider_id: 'far' },
    parts: { provider: provider('far') },
    also: { model: 'far default' },
  },
  model: { change: { model: 'large' } },
  custom_tool_ids: { change: { custom_tool_ids: ['b', 'c'] }, parts: { tools: [tool('c', 'third', 'now')] } },
  builtin_tools: { change: { builtin_tools: ['bash'] } },
  mcp_server_ids: { change: { mcp_server_ids: ['two'] } },
  output_format: { change: { output_format: 'json' } },
  reasoning_effort: { change: { reasoning_effort: 'low' } },
};

describe('the changes of a fork', () => {
  const fields = Object.keys(ForkChanges.shape).filter((name) => name !== 'messages');

  it.each(fields)('replace %s and nothing else', (name) => {
    const { change, parts, also } = SAMPLES[name] ?? { change: { [name]: 0.5 } };
    expect(toPinnedFields(changed(change, parts))).toEqual({ ...toPinnedFields(SOURCE), ...change, ...also });
  });

  it('leave the definition as it is if nothing differs', () => {
    expect(changed({})).toBe(SOURCE);
    expect(changed(toPinnedFields(SOURCE))).toBe(SOURCE);
    expect(listMissingParts(SOURCE, toPinnedFields(SOURCE))).toEqual({ provider_id: null, custom_tool_ids: [] });
  });

  it('keep the limits of the source run, and its tools as they were then', () => {
    const { budget, settings, tools } = changed(
      { custom_tool_ids: ['c', 'a'] },
      { tools: [tool('c', 'third', 'now'), tool('a', 'first', 'now')] },
    );
    expect({ budget, max_turns: settings.max_turns }).toEqual({ budget: SOURCE.budget, max_turns: 5 });
    expect(tools.map((it) => [it.name, 'source_code' in it && it.source_code])).toEqual([
      ['third', 'now'],
      ['first', 'then'],
      ['read', false],
      ['mine', false],
    ]);
  });

  it('take the named model of another provider, and the limits of its exchanges', () => {
    const exchange_limits = { model_total_seconds: 9, model_silence_seconds: null };
    const far = changed({ provider_id: 'far', model: 'huge' }, { provider: provider('far'), exchange_limits });
    expect(far).toMatchObject({ provider: { id: 'far' }, model: 'huge', exchange_limits });
    expect(changed({ provider_id: null })).toMatchObject({ provider: null, model: null });
    expect(changed({ model: null })).toMatchObject({ model: 'near default' });
  });

  it('keep a run on the default runtime, with its model or without one', () => {
    const exchange_limits = { model_total_seconds: 11, model_silence_seconds: 7 };
    const source: Definition = { ...SOURCE, provider: null, exchange_limits };
    const fork = (changes: Parameters<typeof changeDefinition>[1]) => changeDefinition(source, changes, NOTHING);
    expect(toPinnedFields(source).provider_id).toBeNull();
    expect(fork(toPinnedFields(source))).toBe(source);
    expect(fork({ provider_id: null, model: 'large' })).toEqual({ ...source, model: 'large' });
    expect(fork({ model: null })).toEqual({ ...source, model: null });
  });

  it('choose among the tools that the source run had to leave out, if they name tools', () => {
    const source: Definition = { ...SOURCE, tools_left_out: [{ name: 'c', reason: 'Disabled' }] };
    const fork = (changes: Parameters<typeof changeDefinition>[1]) => changeDefinition(source, changes, NOTHING).tools_left_out;
    expect(fork({ custom_tool_ids: ['a'] })).toEqual([]);
    expect(fork({ builtin_tools: [] })).toEqual(source.tools_left_out);
  });

  it('have no fallbacks with another provider or model: who names one wants its answer', () => {
    const fallbacks = [{ on: ['quota' as const], model: 'spare' }];
    const source: Definition = { ...SOURCE, fallbacks, fallback_minutes: 7 };
    const fork = (changes: object, parts = {}) => changeDefinition(source, changes, { ...NOTHING, ...parts });
    for (const changes of [{ model: 'large' }, { model: null }])
      expect([fork(changes).fallbacks, fork(changes).fallback_minutes]).toEqual([undefined, undefined]);
    expect(fork({ provider_id: 'far' }, { provider: provider('far') })).not.toHaveProperty('fallbacks');
    expect(fork({ provider_id: 'near', model: 'small', system_prompt: 'Be quick.' })).toMatchObject({
      fallbacks,
      fallback_minutes: 7,
    });
  });

  it('leave the limits of the source run behind with its provider, and keep them with it', () => {
    const exchange_limits = { model_total_seconds: 11, model_silence_seconds: 7 };
    const limited: Definition = { ...SOURCE, exchange_limits };
    const fork = (changes: Parameters<typeof changeDefinition>[1], parts: Partial<ForkParts> = {}) =>
      changeDefinition(limited, changes, { ...NOTHING, ...parts }).exchange_limits;
    expect(fork({ provider_id: 'far' }, { provider: provider('far') })).toBeUndefined();
    expect(fork({ provider_id: null })).toBeUndefined();
    expect(fork({ model: 'large' })).toEqual(exchange_limits);
    expect(fork({ provider_id: 'near', system_prompt: 'Be quick.' })).toEqual(exchange_limits);
  });

  it('give a run that bypasses memory no memory tools', () => {
    expect(toPinnedFields(changed({ builtin_tools: ['store_memory', 'bash'] })).builtin_tools).toEqual(['bash']);
  });

  it('are refused at their field if they name what there is not', () => {
    const wrong = { provider_id: 'gone', custom_tool_ids: ['a', 'x', 'off'], mcp_server_ids: ['one', 'three'] };
    expect(faults(() => changed(wrong, { tools: [tool('off', 'off')], disabled: ['off'] }))).toEqual([
      { path: 'changes.provider_id', message: 'No provider with id gone' },
      { path: 'changes.custom_tool_ids', message: 'No custom tool with id x' },
      { path: 'changes.custom_tool_ids', message: 'Disabled: off. Enable them or leave them out' },
      { path: 'changes.mcp_server_ids', message: expect.stringContaining('The source run has no MCP server three') },
    ]);
  });

  it('are refused for a provider that keeps conversations itself', () => {
    const vendor = provider('vendor', { provider_type: 'anthropic', base_url: null });
    expect(() => changed({ provider_id: 'vendor' }, { provider: vendor })).toThrow(/choose another provider/);
  });
});
