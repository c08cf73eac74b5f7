import { describe, expect, it } from 'vitest';
import { planFork } from '../../src/temporal/start/fork.ts';

const definition = (more: object = {}) => ({
  ...{ agent: { id: 'a', name: 'a', system_prompt: 'Be kind.' }, workflow: { id: 'w', title: null }, model: 'm', skills: [] },
  ...{
    provider: { id: 'p', name: 'p', provider_type: 'openai_compatible', base_url: 'http://m', default_model: 'm' },
    tools: [],
  },
  settings: { max_turns: 3, output_format: 'markdown', reasoning_effort: null },
  ...more,
});
const provider = (id: string, more: object = {}) => ({ ...definition().provider, id, default_model: 'n', ...more });

/** Three steps: two calls, then one call beyond the limit of three, then the answer. */
const STEPS = [
  {
    step: 1,
    calls: [
      { call_id: '1-1', name: 'x' },
      { call_id: '1-2', name: 'x' },
    ],
  },
  {
    step: 2,
    calls: [
      { call_id: '2-1', name: 'x' },
      { call_id: '2-2', name: 'x' },
    ],
  },
  { step: 3, calls: [] },
];
const COPIES = [
  { step: 0, position: 0, role: 'user', kind: 'prompt' },
  { step: 1, position: 0, role: 'assistant', kind: 'reply' },
  { step: 1, position: 1, role: 'tool', kind: 'result' },
  { step: 1, position: 150_000, role: 'user', kind: 'prompt' },
];

const source = { id: 't', workflow_id: 'w', prompt: 'Look around.', attachments: [], definition_hash: 'h' };

function plan(order: object, original: object = definition(), steps: object[] = STEPS) {
  const store = {
    definitions: { get: async (hash: string) => (hash === 'h' ? original : {}) },
    forks: {
      steps: async () => steps,
      parts: async () => ({ provider: provider('q'), exchange_limits: null, tools: [], disabled: [] }),
      messages: async (_: string, step: number) => COPIES.filter((copy) => copy.step < step),
    },
  };
  return planFork(store as never, { source, from_step: 2, effects: 'recorded', ...order } as never);
}
const refused = (order: object, original?: object, steps?: object[]) =>
  plan(order, original, steps).then(
    () => 'not refused',
    ({ code, message }) => ({ code, message }),
  );

describe('a fork', () => {
  it('begins in the state that the loop of its source had before the step', async () => {
    expect((await plan({ from_step: 1 })).state).toEqual({ step: 1, turns: 0, denied: [], denied_rounds: 0 });
    expect((await plan({ from_step: 2 })).state).toEqual({ step: 2, turns: 2, denied: [], denied_rounds: 0 });
    expect((await plan({ from_step: 3 })).state).toEqual({ step: 3, turns: 3, denied: ['2-2'], denied_rounds: 1 });
  });

  it('without changes has the definition of its source, and copies what comes before the step', async () => {
    const original = definition();
    const { definition: own, prompt, seed, texts_to_admit } = await plan({}, original);
    expect(own).toBe(original);
    expect(prompt).toBe('Look around.');
    expect(seed).toEqual({
      ...{ task_id: 't', step: 2, effects: 'recorded', definition_hash: 'h', changes: [], turns: 2 },
      ...{ is_copy: true, message: null, edits: [], keeps_extra: true },
    });
    expect(texts_to_admit).toEqual([{ path: 'prompt', text: 'Look around.' }]);
  });

  it('with a prompt adds it before the step, or begins with it instead', async () => {
    const later = await plan({ prompt: 'Look again.' });
    expect([later.prompt, later.seed.is_copy, later.seed.message]).toEqual(['Look around.', true, 'Look again.']);
    const first = await plan({ prompt: 'Look again.', from_step: 1 });
    expect([first.prompt, first.seed.is_copy, first.seed.message]).toEqual(['Look again.', false, null]);
    for (const { texts_to_admit } of [later, first]) expect(texts_to_admit).toEqual([{ path: 'prompt', text: 'Look again.' }]);
  });

  it('with changes names them in order, and has its own definition', async () => {
    const changes = { system_prompt: 'Be brief.', model: 'other', reasoning_effort: undefined };
    const { definition: own, seed } = await plan({ changes });
    expect(own).toMatchObject({ agent: { system_prompt: 'Be brief.' }, model: 'other' });
    expect([seed.changes, seed.definition_hash]).toEqual([['model', 'system_prompt'], null]);
    expect((await plan({ changes: { model: 'm' } })).seed).toMatchObject({ definition_hash: 'h', changes: ['model'] });
  });

  it('keeps what only its provider understands as long as it has that provider', async () => {
    expect((await plan({ changes: { model: 'other' } })).seed.keeps_extra).toBe(true);
    expect((await plan({ changes: { provider_id: 'q' } })).seed.keeps_extra).toBe(false);
  });
});

describe('an edit of a copied message', () => {
  const edit = (step: number, position: number, content = 'edited\0') => ({ step, position, content });
  it('is made in the copy, and read by guardrails if a person wrote the message', async () => {
    const messages = [edit(1, 0), edit(1, 150_000), edit(1, 1)];
    const { seed, texts_to_admit, prompt } = await plan({ changes: { messages } });
    expect(seed.edits.map(({ position, content }) => [position, content])).toEqual([
      [0, 'edited\ufffd'],
      [150_000, 'edited\ufffd'],
      [1, 'edited\ufffd'],
    ]);
    expect(prompt).toBe('Look around.');
    expect(texts_to_admit).toEqual([
      { path: 'prompt', text: 'Look around.' },
      { path: 'changes.messages.1.content', text: 'edited\0' },
    ]);
  });

  it('may be one of the prompt, which is then judged as an edit', async () => {
    const messages = [edit(0, 0, 'Look away.')];
    const { prompt, texts_to_admit, seed } = await plan({ changes: { messages } });
    expect([prompt, seed.edits]).toEqual(['Look away.', messages]);
    expect(texts_to_admit).toEqual([{ path: 'changes.messages.0.content', text: 'Look away.' }]);
    const both = await plan({ changes: { messages }, prompt: 'And now?' });
    expect(both.texts_to_admit.map(({ path }) => path)).toEqual(['prompt', 'changes.messages.0.content']);
  });

  it('is refused if the fork does not copy the message', async () => {
    const messages = [edit(0, 0), edit(2, 0)];
    expect(await refused({ changes: { messages } })).toMatchObject({ message: expect.stringContaining('changes.messages.1') });
    expect(await refused({ from_step: 1, prompt: 'New.', changes: { messages: [edit(0, 0)] } })).toMatchObject({
      message: expect.stringContaining('copies no message of step 0 at position 0'),
    });
  });
});

describe('a fork is refused', () => {
  it('at a step that its source does not have', async () => {
    for (const from_step of [0, 4])
      expect(await refused({ from_step })).toMatchObject({ code: 'no_such_step', message: expect.stringContaining('1 to 3') });
    expect(await refused({}, definition(), [])).toMatchObject({ message: expect.stringContaining('has not begun') });
  });

  it('if the conversation of its source is kept at the vendor', async () => {
    const kept = definition({ provider: provider('p', { provider_type: 'anthropic', base_url: null }) });
    expect(await refused({}, kept)).toMatchObject({ code: 'fork_unsupported' });
    const own = definition({ provider: provider('p', { provider_type: 'anthropic', base_url: 'http://m' }) });
    expect((await plan({}, own)).seed.task_id).toBe('t');
  });
});
