import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { z } from 'zod';
import { CallSettingFields, callSettings, pickSetCallSettings, type SetCallSettings } from '../../src/contracts/call-settings.ts';
import { ChangeableFields, ForkChanges } from '../../src/contracts/fork-changes.ts';
import { BundledDefinition } from '../../src/contracts/run-bundles.ts';
import { WorkflowCreate } from '../../src/contracts/workflows.ts';
import type { Definition, PinnedProvider } from '../../src/domain/definition.ts';
import { getDialect } from '../../src/domain/dialect.ts';
import { chatRequest } from '../../src/runtimes/chat-request.ts';
import { messagesRequest } from '../../src/runtimes/messages-request.ts';
import type { Exchange } from '../../src/runtimes/runtime.ts';
import { listStartEvents } from '../../src/temporal/activities/offered.ts';
import { providerOf } from './support.ts';

const SCHEMA = readFileSync(new URL('../../prisma/schema.prisma', import.meta.url), 'utf8');
const WORKFLOW = /^model Workflow \{$([\s\S]*?)^\}/m.exec(SCHEMA)?.[1] ?? '';
const SAMPLES = [0.5, 7, false, ['END'], 'low', 'auto', 'text'];
const OPENAI = { provider_type: 'openai', base_url: null };
const OWN = ['service_tier', 'verbosity'];

const settings = Object.entries(CallSettingFields as Record<string, z.ZodType>);

const buildExchange = (call_settings: SetCallSettings): Exchange => ({
  task_id: 'task',
  model: 'm',
  instructions: '',
  transcript: [],
  tools: [{ name: 'look', description: '', parameters: { type: 'object' }, effect: 'read' }],
  reasoning_effort: null,
  call_settings,
  wants_json: false,
  cursor: null,
});

const buildRequests = (call_settings: SetCallSettings) => {
  const exchange = buildExchange(call_settings);
  return JSON.stringify([chatRequest(exchange, 'gpt-5', getDialect(OPENAI, 'gpt-5')), messagesRequest(exchange, 'm')]);
};

it.each(settings)('%s is stored, pinned, forked, exported and sent', (name, field) => {
  const value = SAMPLES.find((sample) => field.safeParse(sample).success);
  const columns = [...WORKFLOW.matchAll(/^ {2}(\w+) /gm)].map(([, column]) => column);
  expect(columns, 'a column of prisma/schema.prisma').toContain(name);
  const set = pickSetCallSettings({ [name]: value, title: 'other' });
  expect(set).toEqual({ [name]: value });
  expect(WorkflowCreate.pick({ [name]: true } as never).parse(set)).toEqual(set);
  expect(BundledDefinition.shape.settings.partial().parse(set)).toEqual(set);
  expect(ForkChanges.parse(set)).toEqual(set);
  expect(ChangeableFields.partial().parse(callSettings(set))).toEqual(callSettings(set));
  expect(buildRequests(set), 'a request to a model').not.toBe(buildRequests({}));
});

const ALL_SET = Object.fromEntries(
  settings.map(([name, field]) => [name, SAMPLES.find((sample) => sample !== null && field.safeParse(sample).success)]),
) as SetCallSettings;
const CLAUDE = 'claude-sonnet-5';
const sendChat = (model: string) => (set: SetCallSettings) => chatRequest(buildExchange(set), model, getDialect(null, model));
const sendOpenAi = (set: SetCallSettings) => chatRequest(buildExchange(set), 'gpt-5', getDialect(OPENAI, 'gpt-5'));
const sendMessages = (model: string) => (set: SetCallSettings) => messagesRequest(buildExchange(set), model);
const provider = (values: Partial<PinnedProvider>) => ({ provider: providerOf(values), model: values.default_model ?? null });

it.each<[string, Pick<Definition, 'provider' | 'model'>, ((set: SetCallSettings) => object) | null, string[]]>([
  ['the default runtime', { provider: null, model: 'gpt' }, sendChat('gpt'), OWN],
  ['the default runtime with Claude', { provider: null, model: CLAUDE }, sendChat(CLAUDE), ['top_p', ...OWN]],
  ['the default model of the default runtime', { provider: null, model: null }, sendChat(CLAUDE), ['top_p', ...OWN]],
  ['OpenAI', provider({ ...OPENAI, default_model: 'gpt-5' }), sendOpenAi, []],
  ['chat completions', provider({ default_model: 'gpt' }), sendChat('gpt'), OWN],
  ['chat completions with Claude', provider({ default_model: CLAUDE }), sendChat(CLAUDE), ['top_p', ...OWN]],
  [
    'a deployment of Azure',
    provider({ provider_type: 'azure_openai', azure_deployment: CLAUDE, default_model: null }),
    sendChat(CLAUDE),
    ['top_p', ...OWN],
  ],
  [
    'the Messages API',
    provider({ provider_type: 'anthropic_messages', default_model: CLAUDE }),
    sendMessages(CLAUDE),
    ['top_p', ...OWN],
  ],
  [
    "the vendor's sessions",
    provider({ provider_type: 'anthropic', default_model: CLAUDE }),
    null,
    settings.map(([name]) => name),
  ],
])('a setting that %s does not send is reported', (_, definition, build, expected) => {
  const start = {
    ports: { now: () => '', default_model: CLAUDE },
    run: { task_id: 'task' },
    definition: { ...definition, settings: ALL_SET, skills: [], tools: [] } as unknown as Definition,
  };
  const events = listStartEvents(start, { offered: [], selected: { custom_tools: true } });
  const left_out = events.flatMap(({ type, data }) =>
    type === 'log' && data.event === 'setting_left_out' ? [String(data.setting)] : [],
  );
  expect(left_out.toSorted()).toEqual(expected.toSorted());
  if (!build) return;
  const isSent = (name: string) => {
    const { [name as keyof SetCallSettings]: _unused, ...others } = ALL_SET;
    return JSON.stringify(build(ALL_SET)) !== JSON.stringify(build(others));
  };
  expect(Object.keys(ALL_SET).filter((name) => !isSent(name))).toEqual(left_out);
});
