import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { ModelFailure } from '../../../src/domain/model-failure.ts';
import { rememberActivity } from '../../../src/temporal/activities/remember.ts';
import { HALTED } from '../../../src/temporal/names.ts';
import { inActivity } from '../../support/runs/in-activity.ts';

const usage = { total_in: 1_009, total_out: 211, cache_read: 307, cache_write: 53 };
const message = (role: string, kind: string, content: string) => ({ role, kind, content });
const SAID = [
  message('system', 'context', 'What you remember'),
  message('user', 'prompt', 'I am Ada.'),
  message('assistant', 'reply', 'Hello Ada.'),
  message('tool', 'result', 'Ada lives in Bern.'),
  message('tool', 'denial', 'Denied'),
  message('user', 'reminder', 'Reminder'),
];

interface World {
  messages?: object[];
  facts?: { key: string; value: string }[];
  /** The reason why a fact with this key is refused. */
  refusals?: Record<string, string>;
  fails?: Error;
  bypass_memory?: boolean;
  run?: object | null;
  /** The budget above the run that its question does not fit. */
  blocked?: object;
  /** The reason for which the attempt is stopped while the model answers. */
  stopped?: Error;
  /** Where the run is among its fallbacks. */
  fallback?: object;
}

/** Extracts the facts of a run. Returns how many were kept, what the model was sent, what was stored and what was noted. */
async function remember({ messages = SAID, facts = [], refusals = {}, fails, bypass_memory = false, ...world }: World = {}) {
  const { run, fallback, blocked, stopped } = world;
  const sent: any[] = [];
  const released: unknown[] = [];
  const reserved: any[] = [];
  const stopping = new AbortController();
  const stored: string[] = [];
  const notes: any[] = [];
  const exchange = async (input: object) => {
    sent.push(input);
    if (stopped) stopping.abort(stopped);
    stopping.signal.throwIfAborted();
    if (fails) throw fails;
    return { reply: { text: JSON.stringify({ facts }), model: 'by', usage, calls: [] } };
  };
  const prices = { by: { input: 1, output: 2 } };
  const ports = {
    halts: { watch: () => ({ signal: stopping.signal, end() {} }) },
    runs: {
      open: async () =>
        run === null ? undefined : { task_id: 't', definition_hash: 'h', messages, fallback, budget: null, ...run },
      note: async (_: unknown, note: object) => void notes.push(note),
    },
    definition: async () => ({ model: 'asked', settings: { bypass_memory }, fallbacks: [{ on: ['quota'], model: 'spare' }] }),
    selectAnswerer: async () => ({ runtime: { exchange }, prices }),
    remember: async (_: unknown, __: unknown, { key }: { key: string }) => {
      if (!refusals[key]) stored.push(key);
      return refusals[key] ?? null;
    },
    now: () => 'now',
    caps: {
      hold: (reserve: (id: string) => Promise<unknown>) =>
        reserve('r7').then((answer) => ({ reservation: blocked ? null : 'r7', answer })),
      release: async (reservation: unknown) => void released.push(reservation),
    },
    reserveAside: async (asked: object) => {
      reserved.push(asked);
      return blocked ? { blocked } : { warnings: [] };
    },
  };
  const kept = await inActivity({}, () => rememberActivity(ports as never)('t')).catch((error: Error) => error.message);
  return { kept, sent, stored, notes, reserved, released };
}

it('the facts of a run that has left its model are found by the model that it is at', async () => {
  const { sent } = await remember({
    fallback: { position: 1, step: 3, seconds: 17, reason: 'quota', failures: [], answered: {} },
  });
  expect(sent[0].model).toBe('spare');
  expect((await remember()).sent[0].model).toBe('asked');
});

const fact = (key: string) => ({ key, value: `about ${key}` });

describe('the facts of a run', () => {
  it('are those that its model finds in what was asked, answered and found out', async () => {
    const { kept, sent, stored, notes } = await remember({ facts: [fact('name'), fact('town')] });
    expect([kept, stored]).toEqual([2, ['name', 'town']]);
    expect(sent).toMatchObject([{ task_id: 't', model: 'asked', tools: [], wants_json: true, cursor: null }]);
    expect(sent[0].transcript).toMatchObject([
      { kind: 'prompt', content: 'user: I am Ada.\n\nassistant: Hello Ada.\n\ntool: Ada lives in Bern.' },
    ]);
    const cost = (1_009 - 307 - 53 + 307 + 53 + 2 * 211) / 1_000_000;
    expect(notes).toMatchObject([
      {
        usage: { ...usage, cost: expect.closeTo(cost, 12) },
        events: [{ data: { event: 'memory_stored', keys: ['name', 'town'] } }],
      },
    ]);
  });

  it('are looked for at the end of a long conversation', async () => {
    const messages = [message('user', 'prompt', 'a'.repeat(20_000)), message('assistant', 'reply', 'The end.')];
    const [{ transcript }] = (await remember({ messages })).sent;
    expect(transcript[0].content).toHaveLength(20_000);
    expect(transcript[0].content.endsWith('aa\n\nassistant: The end.')).toBe(true);
  });

  it('that are refused are named, each reason once, and do not count', async () => {
    const refusals = { b: 'The quota is full', c: 'The quota is full' };
    const { kept, stored, notes } = await remember({ facts: ['a', 'b', 'c'].map(fact), refusals });
    expect([kept, stored]).toEqual([1, ['a']]);
    expect(notes[0].events).toMatchObject([{ data: { detail: '1 facts; The quota is full', keys: ['a'] } }]);
  });

  it('cost something although there are none', async () => {
    const { kept, notes } = await remember();
    expect(kept).toBe(0);
    expect(notes).toMatchObject([{ usage, events: [] }]);
  });

  it('that cannot be had are paid for if the model has answered', async () => {
    const failure = (answer?: object) =>
      new ModelFailure('filtered', { code: 'content_filter', recoverable: false, answer: answer as never });
    const paid = await remember({ fails: failure({ model: 'by', usage }) });
    expect(paid.kept).toBe('filtered');
    expect(paid.notes).toMatchObject([{ usage, events: [] }]);
    expect((await remember({ fails: failure() })).notes).toEqual([]);
  });

  it('are not asked for if the run has no memory, or is gone', async () => {
    for (const world of [{ bypass_memory: true }, { run: null }])
      expect(await remember({ ...world, facts: [fact('a')] })).toMatchObject({ kept: 0, sent: [], stored: [], notes: [] });
  });

  it('are not asked for if nobody knows what that costs and the run limits dollars', async () => {
    const limit = { max_cost_usd: 29, max_tokens: null, max_seconds: null, on_exhausted: 'wait' };
    const { kept, sent, notes } = await remember({ run: { budget: limit }, facts: [fact('a')] });
    expect([kept, sent, notes]).toEqual([0, [], []]);
  });

  it('are reserved in the budgets above the run, until they are stored', async () => {
    const { kept, reserved, released, notes } = await remember({ run: { has_caps: true }, facts: [fact('a')] });
    expect([kept, released]).toEqual([1, ['r7']]);
    expect(reserved).toMatchObject([{ task_id: 't', reservation: 'r7' }]);
    expect(notes).toMatchObject([{ reservation: 'r7', events: [{ data: { detail: '1 facts' } }] }]);
    expect((await remember({ facts: [fact('a')] })).released).toEqual([null]);
  });

  it('are not asked for if a budget above the run has no room, which the run shows', async () => {
    const blocked = { name: 'Team', reason: 'never', unit: 'tokens', limit: 7, spent: 3, reserved: 0, least: 11, ends_at: 'x' };
    const { kept, sent, notes, released } = await remember({ run: { has_caps: true }, blocked, facts: [fact('a')] });
    expect([kept, sent, released]).toEqual([0, [], []]);
    const detail = expect.stringMatching(/^0 facts; The budget Team of 7 tokens is less than the next call needs, 11 tokens/);
    expect(notes).toMatchObject([{ events: [{ data: { event: 'memory_stored', detail, keys: [] } }] }]);
  });

  it('that a person no longer wants are paid for as far as they are known', async () => {
    const halted = await remember({ stopped: ApplicationFailure.nonRetryable('A person halts it', HALTED) });
    expect(halted.notes).toMatchObject([{ usage: { estimated: true, total_in: expect.any(Number) }, events: [] }]);
    expect(halted.kept).toBe('A person halts it');
    expect((await remember({ stopped: new Error('The worker stops') })).notes).toEqual([]);
  });
});
