import { describe, expect, it } from 'vitest';
import { openRecording, toDefinition } from '../../src/replay/recording.ts';

const call = (call_id: string, result: string, status: string) => ({
  ...{ call_id, name: 'delete_notes', position: 1, arguments: {}, result, failed: status === 'denied', status },
});
const step = (fields: object) => ({
  ...{ step: 3, started_at: '2026-01-05T07:00:00Z', ended_at: '2026-01-05T07:00:11Z', output: 'Done.', finish: 'length' },
  ...{ model: 'scripted', usage: null, tool_calls: [], ...fields },
});
const open = (steps: object[], extra: unknown = null) =>
  openRecording({
    task: { forked_from: null, completed_at: null },
    transcript: [{ step: 3, position: 0, role: 'assistant', kind: 'reply', content: 'Done.', extra }],
    steps,
  } as never);

describe('a recorded reply', () => {
  it.each([
    ['length', 'length'],
    [null, 'stop'],
  ])('that ended by %s ends by %s', (finish, shown) => {
    expect(open([step({ finish })]).reply(3)).toMatchObject({ text: 'Done.', finish: shown });
  });

  it.each<[string, unknown, object]>([
    ['as text', { reasoning: 'It is seven.' }, { reasoning: 'It is seven.' }],
    ['in another form', { reasoning: [{ type: 'thinking' }] }, {}],
    ['that is missing', null, {}],
  ])('has its reasoning %s', (_, extra, reasoning) => {
    const { reasoning: replayed } = open([step({})], extra).reply(3);
    expect(replayed === undefined ? {} : { reasoning: replayed }).toEqual(reasoning);
  });
});

it.each([
  ['approved', 'deleted 7', 'done', { decision: 'approve' }],
  ['denied', 'Denied by a person', 'denied', { decision: 'deny' }],
  ['denied with a message', 'Denied by a person: not these\nseven', 'denied', { decision: 'deny', message: 'not these\nseven' }],
])('a call that was %s is decided in the same way', (_, result, status, decision) => {
  expect(open([step({ tool_calls: [call('c', result, status)] })]).decision('c')).toEqual(decision);
});

it.each([
  ['with guardrails', [{ name: 'no-keys' }], { guardrails: [{ name: 'no-keys' }] }],
  ['without', undefined, {}],
])('a definition %s has the tools of the vendor', (_, guardrails, kept) => {
  const hosted_tools = [{ name: 'web_search', type: 'web_search' }];
  const definition = { model: 'scripted', provider: null, ...(guardrails && { guardrails }) };
  expect(toDefinition({ definition, hosted_tools } as never)).toEqual({
    ...{ model: 'scripted', provider: null, webhooks: { completed: null, error: null }, repository: null, ...kept },
    tools: [{ kind: 'hosted', name: 'web_search', tool: hosted_tools[0] }],
  });
});

it('the fallbacks of a definition keep their providers, without addresses', () => {
  const provider = { id: 'p3', name: 'Gateway', provider_type: 'openai_compatible', default_model: 'small' };
  const fallbacks = [
    { on: ['quota'], model: 'large' },
    { on: ['quota'], model: 'huge', provider },
  ];
  const definition = { model: 'scripted', provider: null, fallbacks };
  const [same, other] = toDefinition({ definition } as never).fallbacks!;
  expect(same).toEqual({ on: ['quota'], model: 'large' });
  expect(other).toMatchObject({ on: ['quota'], model: 'huge', provider: { id: 'p3', name: 'Gateway' } });
});
