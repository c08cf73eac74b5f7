import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { z } from 'zod';
import { CallSettingFields, callSettings, pickSetCallSettings, type SetCallSettings } from '../../src/contracts/call-settings.ts';
import { ChangeableFields, ForkChanges } from '../../src/contracts/fork-changes.ts';
import { BundledDefinition } from '../../src/contracts/run-bundles.ts';
import { WorkflowCreate } from '../../src/contracts/workflows.ts';
import { getDialect } from '../../src/domain/provider-presets.ts';
import { chatRequest } from '../../src/runtimes/chat-request.ts';
import { messagesRequest } from '../../src/runtimes/messages-request.ts';
import type { Exchange } from '../../src/runtimes/runtime.ts';

const SCHEMA = readFileSync(new URL('../../prisma/schema.prisma', import.meta.url), 'utf8');
const WORKFLOW = /^model Workflow \{$([\s\S]*?)^\}/m.exec(SCHEMA)?.[1] ?? '';
const SAMPLES = [0.5, 7, false, ['END'], 'low', 'auto', 'text'];

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
  return JSON.stringify([chatRequest(exchange, 'm', getDialect(null, 'm')), messagesRequest(exchange, 'm')]);
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
