import type { ApplicationFailure } from '@temporalio/activity';
import { describe, expect, it } from 'vitest';
import { OutageError } from '../../../src/domain/outages.ts';
import type { OpenCall } from '../../../src/store/runs/tool-ledger.ts';
import { callStep } from '../../../src/temporal/activities/call-tool.ts';
import { ToolUncertain, ToolUnreachable } from '../../../src/tools/source.ts';

const CALL = {
  ...{ task_id: 't', call_id: '3-2', workflow_id: 'w', owner: 'ann', owner_login: 'ann', definition_hash: 'h' },
  ...{ step: 3, position: 2, name: 'pay', arguments: '{"amount":7}', effect: 'read', errors: 0, known: true, defined: true },
  ...{ turns: 5, task_status: 'running', halt_requested: false, toolset: null, fork: null, status: 'planned', approval: false },
  ...{ attempts: 0, restored: false, decision: null },
} as unknown as OpenCall;

interface World {
  /** The tool; by default it returns at once. */
  perform?: () => Promise<object>;
  /** What the ledger answers to a write; by default it takes everything. */
  refuses?: readonly string[];
  /** The call as it is read again. */
  later?: Partial<OpenCall>;
  records?: object;
  order?: object;
  signal?: AbortSignal;
}

/** Makes one attempt at a call; returns its outcome, and what was written in order. */
async function attempt(call: Partial<OpenCall>, { perform, refuses = [], later, records, order = {}, signal }: World = {}) {
  const done: [what: string, more?: unknown][] = [];
  const open = { ...CALL, ...call };
  let reads = 0;
  const write =
    (what: string, result: (call: OpenCall, more: any) => unknown = () => true) =>
    async (written: OpenCall, more: any) => {
      done.push([what, more]);
      return refuses.includes(what) ? (what === 'start' ? null : false) : result(written, more);
    };
  const ports = {
    ledger: {
      open: async () => (reads++ === 0 ? open : { ...open, ...later }),
      start: write('start', (written) => ({ ...written, status: 'started', attempts: written.attempts + 1 })),
      end: write('end'),
      answer: write('answer'),
      park: write('park'),
      resume: write('resume'),
      release: write('release'),
      decide: write('decide'),
    },
    forks: { listRecords: async () => ({ recorded: [], earlier: [], ...records }) },
    definition: async () => ({ tools: [{ kind: 'client', name: 'theirs' }] }),
    perform: async (_: OpenCall, args: object) => {
      done.push(['perform', args]);
      return perform ? perform() : { content: 'paid', failed: false };
    },
    parkBehind: async (_: unknown, missing: string) => void done.push(['behind', missing]),
    client_wait_ms: 43_000,
    nudge: async (...where: string[]) => void done.push(['nudge', where]),
    keepFiles: async (_: unknown, files: { name: string; size: number }[]) => ({
      kept: files.filter(({ size }) => size <= 7).map(({ name }) => ({ id: `id of ${name}`, name })),
      refused: files.filter(({ size }) => size > 7).map(({ name }) => ({ name, reason: 'it is too large' })),
    }),
    settleFiles: async (_: unknown, is_accepted: boolean) => void done.push(['settleFiles', is_accepted]),
    isUnreachable: (error: unknown) => error instanceof ToolUnreachable,
    isUncertain: (error: unknown) => error instanceof ToolUncertain,
    now: () => 'now',
  };
  const heartbeat = { last: null as string | null };
  const stepping = callStep(
    ports as never,
    { task_id: 't', call_id: '3-2', heartbeat, ...order },
    signal ?? new AbortController().signal,
  );
  const state = await stepping.catch((error: Error) => error);
  const find = (wanted: string): any => done.find(([what]) => what === wanted)?.[1];
  return { state, done: done.map(([what]) => what), find, heartbeat };
}

const logged = (written: { events: { data: { event?: string } }[] }) => written.events.map(({ data }) => data.event ?? 'other');

const WRITE = { effect: 'write' as const };
const STARTED = { status: 'started' as const, attempts: 1 };
const decided = (decision: object): Partial<OpenCall> => ({ status: 'waiting_approval', decision: decision as never });

/** What an attempt at a call does, by the state that it finds. */
const MOVES: [what: string, call: Partial<OpenCall>, done: string[], state: unknown][] = [
  ['a new call', {}, ['start', 'perform', 'end'], 'done'],
  ['a new write', WRITE, ['start', 'perform', 'end'], 'done'],
  ['one that needs an approval', { ...WRITE, approval: true }, ['park'], 'waiting'],
  ['one that asked before', { approval: true, status: 'waiting_approval' }, [], 'waiting'],
  [
    'one that is approved',
    { approval: true, ...decided({ decision: 'approve' }) },
    ['start', 'resume', 'perform', 'end'],
    'done',
  ],
  ['one that is denied', { approval: true, ...decided({ decision: 'deny' }) }, ['end', 'resume'], 'done'],
  ['one of the client', { name: 'theirs', approval: true }, ['park'], { client_ms: 43_000 }],
  ['one that is refused anyway', { approval: true, arguments: '[1]' }, ['start', 'end'], 'done'],
  ['a read whose worker was lost', STARTED, ['start', 'perform', 'end'], 'done'],
  ['an idempotent one whose worker was lost', { ...STARTED, effect: 'idempotent' }, ['start', 'perform', 'end'], 'done'],
  ['a write whose worker was lost', { ...STARTED, ...WRITE }, ['park'], 'waiting'],
  ['a write of a restored run', { ...WRITE, restored: true }, ['park'], 'waiting'],
  ['a read of a restored run', { restored: true }, ['start', 'perform', 'end'], 'done'],
  ['one that has ended', { status: 'done', attempts: 1 }, [], 'done'],
  ['one that was denied', { status: 'denied' }, [], 'done'],
  ['one whose run waits for another', { task_status: 'waiting' }, ['start', 'resume', 'perform', 'end'], 'done'],
  ['one that is not on record', { known: false }, ['behind'], 'behind'],
  ['one without a definition', { defined: false }, ['behind'], 'behind'],
];

describe('an attempt at a call finds', () => {
  it.each(MOVES)('%s', async (_, call, done, state) => {
    const made = await attempt(call);
    expect(made.done).toEqual(done);
    expect(made.state).toEqual(state);
  });

  it.each([
    ['a halt', { halt_requested: true }, 'Halted', /halted/],
    ['a task that has completed', { task_status: 'completed' }, 'task_ended', /is completed/],
    ['a task that has failed', { task_status: 'failed' }, 'task_ended', /is failed/],
    ['a task that was halted', { task_status: 'halted' }, 'task_ended', /is halted/],
  ])('%s, and ends', async (_, call, type, words) => {
    const { state, done } = await attempt(call);
    expect(state).toMatchObject({ type, nonRetryable: true, message: expect.stringMatching(words) });
    expect(done).toEqual([]);
  });

  it.each([
    ['begun', 'the beginning of the call 3-2'],
    ['parked', 'the question about the call 3-2'],
  ])('less on record than the engine has seen, which is %s: it waits', async (seen, missing) => {
    const { find, state } = await attempt({}, { order: { seen } });
    expect([state, find('behind')]).toEqual(['behind', missing]);
  });

  it('less on record than an earlier attempt has reported to the engine: it waits', async () => {
    const { state, find } = await attempt({}, { order: { heartbeat: { last: 'begun' } } });
    expect([state, find('behind')]).toEqual(['behind', 'the beginning of the call 3-2']);
  });
});

describe('a brief call', () => {
  const brief = { brief: true };
  it('is written once, when it ends, with the event of its beginning', async () => {
    const { done, find, heartbeat } = await attempt({}, { order: brief });
    expect(done).toEqual(['perform', 'end']);
    expect(logged(find('end'))).toEqual(['tool_call', 'tool_result', 'other']);
    expect(heartbeat.last).toBeNull();
  });

  it.each<[string, Partial<OpenCall>]>([
    ['was tried before', { attempts: 1 }],
    ['waited for a person', { approval: true, ...decided({ decision: 'approve' }) }],
    ['belongs to a run that waits', { task_status: 'waiting' }],
  ])('that %s is written at its beginning, too', async (_, call) => {
    const { done, find } = await attempt(call, { order: brief });
    expect(done.filter((what) => what !== 'resume')).toEqual(['start', 'perform', 'end']);
    expect(logged(find('end'))).toEqual(['tool_result', 'other']);
  });

  it('differs from a long one, which reports to the engine that it has begun', async () => {
    expect((await attempt({})).heartbeat.last).toBe('begun');
  });
});

describe('a question about a call', () => {
  it.each<[string, Partial<OpenCall>, string, string, RegExp]>([
    ['asks for an approval', { approval: true }, 'waiting_approval', 'approval_requested', /May the tool pay be called/],
    ['asks the client', { approval: true, name: 'theirs' }, 'waiting_client', 'client_call_requested', /client executes theirs/],
    ['asks after a loss', { ...WRITE, ...STARTED }, 'waiting_reconciliation', 'reconciliation_requested', /worker was lost/],
    ['asks after a restore', { ...WRITE, restored: true }, 'waiting_reconciliation', 'reconciliation_requested', /was restored/],
  ])('%s, and shows that the run waits', async (_, call, status, event, words) => {
    const { find } = await attempt(call);
    const parked = find('park');
    expect(parked.status).toBe(status);
    expect(parked.events).toMatchObject([
      { type: 'log', data: { event, detail: expect.stringMatching(words), call_id: '3-2', arguments: '{"amount":7}' } },
      { type: 'status', data: { status: 'waiting', current_turn: 5 } },
    ]);
  });

  it('whose answer the record does not take is answered by another attempt', async () => {
    const made = await attempt(decided({ decision: 'deny' }), { refuses: ['end'] });
    expect(made.state).toMatchObject({ type: 'stale_attempt' });
    expect(made.done).toEqual(['end']);
  });

  it('is not asked about the end of an attempt that the record has lost: the run waits', async () => {
    const made = await attempt({ attempts: 3 }, { refuses: ['end', 'decide'], later: { status: 'started', attempts: 3 } });
    expect([made.state, made.find('behind')]).toEqual(['behind', 'the last attempt of the call 3-2']);
  });

  it('is asked by another attempt if the record does not take it', async () => {
    expect((await attempt({ approval: true }, { refuses: ['park'] })).state).toMatchObject({ type: 'stale_attempt' });
  });
});

describe('a decision is the result of the call:', () => {
  it.each([
    [{ decision: 'deny' }, { kind: 'denial', failed: true, content: 'Denied by a person.' }],
    [
      { decision: 'deny', message: 'too much' },
      { kind: 'denial', failed: true, content: 'Denied by a person: too much' },
    ],
    [
      { decision: 'done', result: 'sent' },
      { kind: 'result', failed: false, content: 'sent', extra: null },
    ],
    [
      { decision: 'done', result: { id: 7 } },
      { kind: 'result', failed: false, content: '{"id":7}' },
    ],
    [{ decision: 'done' }, { kind: 'result', failed: false, content: 'null' }],
    [
      { decision: 'done', result: '', forced_tools: ['next'] },
      { failed: false, content: '', extra: { forced_tools: ['next'] } },
    ],
    [
      { decision: 'fail', message: 'lost' },
      { kind: 'result', failed: true, content: 'lost' },
    ],
    [{ decision: 'fail' }, { kind: 'result', failed: true, content: 'The tool call failed; its outcome is unknown.' }],
  ])('%j', async (decision, result) => {
    const { find, done } = await attempt({ ...WRITE, ...decided(decision) });
    expect(done).toEqual(['end', 'resume']);
    expect(find('end')).toMatchObject(result);
    const denied = decision.decision === 'deny';
    expect(logged(find('end'))).toEqual([denied ? 'tool_denied' : 'tool_result', 'other']);
    expect(find('resume')).toMatchObject([{ data: { status: 'running', current_turn: 5 } }]);
  });

  it('retry makes it once more, as the attempt that it is', async () => {
    const { done, find } = await attempt({
      ...WRITE,
      ...STARTED,
      ...decided({ decision: 'retry' }),
      status: 'waiting_reconciliation',
    });
    expect(done).toEqual(['start', 'resume', 'perform', 'end']);
    expect(find('start')).toMatchObject([{ data: { event: 'tool_call', attempt: 2, arguments: '{"amount":7}' } }]);
    expect((await attempt({})).find('start')[0].data).not.toHaveProperty('attempt');
  });
});

describe('the result of a call', () => {
  it('has what the tool printed, its list of things to do, and how it was confined', async () => {
    const todos = ['done', 'in-progress', 'done'].map((status, index) => ({ id: `${index}`, title: 'x', status }));
    const perform = async () => ({ content: 'a\0b', failed: true, stdout: 'out', stderr: 'err', isolation: 'landlock', todos });
    const { find } = await attempt({}, { perform });
    const ended = find('end');
    expect(ended).toMatchObject({ content: 'a\ufffdb', failed: true, kind: 'result', stdout: 'out', stderr: 'err', todos });
    const { data } = ended.events[1];
    expect(ended.events).toMatchObject([
      { data: { event: 'progress', detail: '2 of 3 done' } },
      { data: { event: 'tool_result', detail: 'pay', failed: true, stdout: 'out', stderr: 'err', isolation: 'landlock' } },
      { type: 'message', data: { role: 'tool', content: 'a\ufffdb', call_id: '3-2', name: 'pay' } },
    ]);
    expect(data.duration_ms).toBe(ended.duration_ms);
  });

  it('has its files, and names those that are not kept, with the reason', async () => {
    const file = (name: string, size: number) => ({ name, size });
    const perform = async () => ({ content: 'two', failed: false, files: [file('a.png', 7), file('b.png', 8)] });
    const { find } = await attempt({}, { perform });
    const files = [{ id: 'id of a.png', name: 'a.png' }];
    expect(find('end')).toMatchObject({ content: 'two\n[b.png was not kept: it is too large]', extra: { files } });
    expect(find('end').events[0].data.files).toEqual(files);
    const none = await attempt({}, { perform: async () => ({ content: 'two', failed: false, files: [file('b.png', 8)] }) });
    expect(none.find('end').extra).toBeNull();
  });

  it('that nobody knows, as its tool may have had its effect, is asked for', async () => {
    const perform = async (_?: unknown) => {
      throw new ToolUncertain('The connection broke during the call');
    };
    const { state, done, find } = await attempt(WRITE, { perform });
    expect([state, done]).toEqual(['waiting', ['start', 'perform', 'park']]);
    expect(find('park')).toMatchObject({
      status: 'waiting_reconciliation',
      events: [
        { data: { detail: 'The connection broke during the call; what was the outcome?', cause: expect.any(String) } },
        {},
      ],
    });
    const stop = new AbortController();
    const halted = await attempt(WRITE, { perform: async () => perform(void stop.abort()), signal: stop.signal });
    expect([(halted.state as Error).message, halted.done]).toEqual([
      ...['The connection broke during the call', ['start', 'perform']],
    ]);
  });

  it('of arguments that are no object is a failure in words, without the tool', async () => {
    const { find, done } = await attempt({ arguments: '[1]' });
    expect(done).toEqual(['start', 'end']);
    expect(find('end')).toMatchObject({ failed: true, content: 'The arguments must be a JSON object' });
  });

  it.each([
    [false, { decision: 'done', result: 'paid late' }],
    [true, { decision: 'fail', message: 'paid late' }],
  ])('that comes after its worker was given up answers the question about it (failed: %s)', async (failed, decision) => {
    const perform = async () => ({ content: 'paid late', failed });
    const later = { ...STARTED, attempts: 2 };
    const { state, done, find } = await attempt(WRITE, { perform, refuses: ['end'], later });
    expect(done).toEqual(['start', 'perform', 'end', 'decide', 'nudge']);
    expect(find('decide')).toMatchObject({ decision, by: 'worker', attempts: 1 });
    expect(find('nudge')).toEqual(['t', '3-2']);
    expect(state).toMatchObject({ type: 'stale_attempt', nonRetryable: false });
  });

  it.each([
    ['that answers the question of a person has its files', [], true],
    ['that nobody asks about leaves no files behind', ['decide'], false],
  ])('%s', async (_, others, is_accepted) => {
    const perform = async () => ({ content: 'x', failed: false, files: [{ name: 'a', size: 7 }] as never });
    const { done, find } = await attempt(WRITE, {
      perform,
      refuses: ['end', ...others],
      later: { ...STARTED, attempts: 2 },
    });
    expect(find('decide').decision.files).toEqual([{ id: 'id of a', name: 'a' }]);
    expect([find('settleFiles'), done.filter((what) => what === 'settleFiles')]).toEqual([is_accepted, ['settleFiles']]);
  });

  it.each(['done', 'fail'])('that was decided by its late end (%s) has the files of that end', async (decision) => {
    const files = [{ id: 'id of a', name: 'a' }];
    const { find } = await attempt({ ...WRITE, ...decided({ decision, files }), status: 'waiting_reconciliation', attempts: 1 });
    expect(find('end')).toMatchObject({ extra: { files } });
  });

  it('that nobody asks about is dropped without a notice', async () => {
    const later = { ...STARTED, attempts: 2 };
    const { done } = await attempt(WRITE, { refuses: ['end', 'decide'], later });
    expect(done).toEqual(['start', 'perform', 'end', 'decide']);
  });

  it.each([
    ['done', { status: 'done' }, 'done'],
    ['denied', { status: 'denied' }, 'done'],
    ['behind', { status: 'planned', attempts: 0 }, 'behind'],
    ['behind', { known: false }, 'behind'],
  ])('that the record refuses leaves the call %s, if it is so on record: %j', async (_, later, state) => {
    expect((await attempt(WRITE, { refuses: ['end', 'decide'], later: later as never })).state).toBe(state);
  });
});

describe('a tool that cannot be reached', () => {
  const unreachable = (reached: boolean, cause?: unknown) => async () => {
    throw new ToolUnreachable('The server is down', { reached, ...(cause ? { cause } : {}) });
  };

  it.each([
    [0, 500, false],
    [1, 2_000, false],
    [2, 8_000, true],
  ])('after %i failures is tried again after %i ms, or the run fails: %s', async (errors, nextRetryDelay, nonRetryable) => {
    for (const reached of [true, false]) {
      const { state, find } = await attempt({ errors }, { perform: unreachable(reached) });
      expect(state).toMatchObject({ type: 'tool_unreachable', message: 'The server is down', nextRetryDelay, nonRetryable });
      const retry = { data: { event: 'retry', detail: 'The server is down', call_id: '3-2', wait_ms: nextRetryDelay } };
      expect(find('release')).toMatchObject({ reached, is_outage: false, events: nonRetryable ? [] : [retry] });
    }
  });

  it.each([0, 2, 99])('because the installation lacks something is tried until it has it, after %i failures', async (errors) => {
    const down = new OutageError({ code: 'database_unavailable', sentence: 'The database is down' });
    const { state, find } = await attempt({ errors }, { perform: unreachable(false, down) });
    expect(state).toMatchObject({ type: 'outage', nextRetryDelay: 5_000, nonRetryable: false });
    expect(find('release')).toMatchObject({ is_outage: true, events: [{ data: { event: 'retry' } }] });
  });

  it('is left to another attempt that has taken over', async () => {
    const { state } = await attempt({}, { perform: unreachable(true), refuses: ['release'] });
    expect(state).toMatchObject({ type: 'stale_attempt' });
  });

  it('after a halt is not a failure of the tool', async () => {
    const stop = new AbortController();
    const perform = async () => {
      stop.abort();
      return unreachable(true)();
    };
    const { state, done } = await attempt({}, { perform, signal: stop.signal });
    expect([(state as Error).message, done]).toEqual(['The server is down', ['start', 'perform']]);
  });
});

describe('a call of a fork', () => {
  const fork = (effects: string, task_id: string | null = 'source') => ({ fork: { task_id, step: 1, effects } as never });
  const records = { recorded: [{ name: 'pay', arguments: '{ "amount": 7 }', content: 'paid then', failed: true }] };

  it('is answered from the record, and shown as such', async () => {
    const { state, done, find } = await attempt({ ...WRITE, ...fork('recorded') }, { records });
    expect([state, done]).toEqual(['done', ['answer']]);
    const { events, ...answer } = find('answer');
    expect(answer).toEqual({ content: 'paid then', failed: true, answered_by: 'recorded' });
    expect(events).toMatchObject([
      { data: { event: 'tool_call', answered_by: 'recorded' } },
      { data: { event: 'tool_result', failed: true, answered_by: 'recorded' } },
      { type: 'message', data: { role: 'tool', content: 'paid then' } },
    ]);
  });

  it.each([
    ['source', /its source has/],
    [null, /its item has/],
  ])('without a record is a stub that says where nothing was found: %s', async (task_id, words) => {
    const { find } = await attempt({ ...WRITE, ...fork('stub', task_id) });
    expect(find('answer')).toMatchObject({ answered_by: 'stub', content: expect.stringMatching(words) });
  });

  it.each<[string, Partial<OpenCall>]>([
    ['under live', fork('live')],
    ['if it was begun before', { ...fork('recorded'), ...STARTED }],
    ['if it only reads and is not on record', { ...fork('recorded'), arguments: '{"amount":8}' }],
  ])('is made %s', async (_, call) => {
    expect((await attempt(call, { records })).done).toEqual(['start', 'perform', 'end']);
  });

  it('that has ended is not answered again, and one that another attempt has answered is left to it', async () => {
    expect((await attempt({ ...fork('recorded'), status: 'done' }, { records })).done).toEqual([]);
    const { state } = await attempt(fork('recorded'), { records, refuses: ['answer'] });
    expect(state as ApplicationFailure).toMatchObject({ type: 'stale_attempt' });
  });
});

it('an attempt whose beginning the record refuses does not call the tool', async () => {
  const { state, done } = await attempt(WRITE, { refuses: ['start'] });
  expect([(state as ApplicationFailure).type, done]).toEqual(['stale_attempt', ['start']]);
  expect(state).toMatchObject({ nonRetryable: false });
});
