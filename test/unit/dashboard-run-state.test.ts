import { expect, it } from 'vitest';
import type { LogData, RunEvent } from '../../src/contracts/events.ts';
import type { LogName } from '../../src/contracts/log-events.ts';
import { applyEvents, countTurns, emptyRun } from '../../src/dashboard/runs/run-state.ts';
import { parseJson } from '../../src/dashboard/ui/json.ts';

const timestamp = '2026-01-31T12:00:00.000Z';
const log = (event: LogName, more: object = {}): RunEvent => ({
  type: 'log',
  data: { event, detail: '', ...more } as LogData,
  timestamp,
});
const delta = (text: string): RunEvent => ({ type: 'message_delta', data: { delta: text }, timestamp });
const message = (role: string, content: string, more: object = {}): RunEvent => ({
  type: 'message',
  data: { role, content, ...more },
  timestamp,
});

const blank = {
  ...{ kind: 'call', call_id: '1-1', name: 'add', arguments: '', state: 'planned', failed: false, result: null },
  ...{ restored: false, cause: null, files: [], question: null, progress: null, stdout: null, stderr: null, duration_ms: null },
};
const call = { call_id: '1-1', name: 'add', arguments: '{}' };
const asked = applyEvents(emptyRun, [message('assistant', '', { tool_calls: [call] })]);

it('takes status, turn and usage from their events', () => {
  const usage = { total_in: 1, total_out: 2, cost: 3, cache_read: 4, cache_write: 5, premium_requests: 6 };
  const run = applyEvents(emptyRun, [
    { type: 'status', data: { status: 'running', current_turn: 3, task_id: 't' }, timestamp },
    { type: 'usage', data: usage, timestamp },
  ]);
  expect(run).toEqual({ ...emptyRun, status: 'running', turn: 3, usage });
  expect(emptyRun).toEqual({ status: null, turn: 0, usage: null, blocks: [], partial: '', logs: [], behind: null, doing: [] });
});

it('counts the tool calls of a run in progress, without those that were not begun or denied', () => {
  const calls = ['1-1', '1-2', '1-3', '1-4'].map((call_id) => ({ ...call, call_id }));
  const run = applyEvents(emptyRun, [
    { type: 'status', data: { status: 'running', current_turn: 0, task_id: 't' }, timestamp },
    message('assistant', '', { tool_calls: calls }),
    log('tool_call', { call_id: '1-1', name: 'add', arguments: '' }),
    log('tool_result', { call_id: '1-1', failed: false }),
    log('tool_call', { call_id: '1-2', name: 'add' }),
    log('tool_denied', { call_id: '1-3' }),
  ]);
  expect(countTurns(run)).toBe(2);
  expect(countTurns({ ...run, turn: 7 })).toBe(7);
});

it('keeps every log line, and what came before', () => {
  const first = applyEvents(emptyRun, [log('model_call', { detail: 'a' })]);
  const second = applyEvents(first, [log('progress', { detail: 'b' })]);
  expect(second.logs).toEqual([
    { event: 'model_call', detail: 'a', timestamp },
    { event: 'progress', detail: 'b', timestamp },
  ]);
  expect(first.logs).toHaveLength(1);
  expect(second.blocks).toEqual([]);
});

it.each([
  ...['retry', 'rate_limited', 'goal_reminder', 'compaction', 'budget_exhausted', 'guardrail_blocked', 'mcp_error'],
  ...[
    'output_guardrail_violation',
    'output_rejected',
    'approval_decided',
    'reconciliation_decided',
    'attempt_reset',
    'repo_synced',
    'halted',
  ],
  ...['memory_stored', 'memory_loaded', 'knowledge_loaded', 'forked', 'tools_not_offered'],
] as LogName[])('shows %s in the conversation', (event) => {
  expect(applyEvents(emptyRun, [log(event, { detail: 'why' })]).blocks).toEqual([{ kind: 'note', event, text: 'why' }]);
});

it.each(['retry', 'rate_limited', 'fallback'] as const)('shows no repeated step after %s, which gives the reason', (event) => {
  const { blocks } = applyEvents(emptyRun, [log(event, { detail: 'why' }), log('attempt_reset', { detail: 'again' })]);
  expect(blocks).toEqual([{ kind: 'note', event, text: 'why' }]);
});

it('shows an event that it does not know with its detail and its fields', () => {
  const later = log('of_later' as LogName, { detail: 'why', model: 'm', tries: 2 });
  const note = { kind: 'note', event: 'of_later', text: 'why (model: m, tries: 2)' };
  expect(applyEvents(emptyRun, [later]).blocks).toEqual([note]);
  const plain = log('of_later' as LogName, { detail: 'why' });
  expect(applyEvents(emptyRun, [plain]).blocks).toEqual([{ ...note, text: 'why' }]);
});

it('leaves out a type of event that it does not know', () => {
  const later = { ...log('error', { detail: 'why' }), type: 'of_later' } as unknown as RunEvent;
  expect(applyEvents(emptyRun, [later])).toEqual(emptyRun);
});

// The head of the page has the error.
it.each(['model_call', 'tool_result', 'run_started', 'completed', 'error'] as const)('does not show %s as a note', (event) => {
  expect(applyEvents(emptyRun, [log(event)]).blocks).toEqual([]);
});

it('shows text by its role, and none that is empty', () => {
  const run = applyEvents(emptyRun, [delta('par'), message('user', 'hi'), message('assistant', ''), message('system', 'so')]);
  expect(run.blocks).toEqual([
    { kind: 'text', role: 'user', text: 'hi' },
    { kind: 'text', role: 'system', text: 'so' },
  ]);
  expect(applyEvents(emptyRun, [delta('par'), message('user', 'hi')]).partial).toBe('par');
  expect(run.partial).toBe('');
});

it('shows a call once, however often it is announced', () => {
  expect(asked.blocks).toEqual([{ ...blank, arguments: '{}' }]);
  const again = applyEvents(asked, [
    message('assistant', '', { tool_calls: [call, { ...call, call_id: '1-2' }] }),
    log('tool_call', call),
  ]);
  expect(again.blocks).toMatchObject([
    { call_id: '1-1', state: 'running' },
    { call_id: '1-2', state: 'planned' },
  ]);
  expect(applyEvents(emptyRun, [log('tool_call', { call_id: '1-1', name: 'add', arguments: '' })]).blocks).toEqual([
    { ...blank, state: 'running' },
  ]);
});

it.each<[LogName, object, object]>([
  ['tool_denied', {}, { state: 'denied', failed: true, result: 'why' }],
  ['approval_requested', {}, { state: 'waiting_approval' }],
  ['reconciliation_requested', { restored: false }, { state: 'waiting_reconciliation' }],
  ['reconciliation_requested', { restored: false, cause: 'Lost' }, { state: 'waiting_reconciliation', cause: 'Lost' }],
  ['progress', {}, { progress: 'why' }],
  ['tool_result', { failed: false }, { state: 'done' }],
  [
    'tool_result',
    { failed: true, duration_ms: 5, stdout: 'o', stderr: 'e', result: 'r' },
    { state: 'done', failed: true, duration_ms: 5, stdout: 'o', stderr: 'e', result: 'r' },
  ],
  ['model_call', {}, {}],
])('changes its call, and no other, by %s %j', (event, more, changed) => {
  const two = applyEvents(asked, [message('assistant', '', { tool_calls: [{ ...call, call_id: '1-2' }] })]);
  const blocks = applyEvents(two, [log(event, { detail: 'why', call_id: '1-1', ...more })]).blocks.filter(
    ({ kind }) => kind === 'call',
  );
  expect(blocks).toEqual([
    { ...blank, arguments: '{}', ...changed },
    { ...blank, call_id: '1-2', arguments: '{}' },
  ]);
});

it.each(['approval_decided', 'reconciliation_decided', 'client_call_answered'] as const)(
  'plans a call again after %s',
  (event) => {
    const waiting = applyEvents(asked, [log('approval_requested', { call_id: '1-1' })]);
    expect(applyEvents(waiting, [log(event, { call_id: '1-1' })]).blocks[0]).toMatchObject({ state: 'planned' });
  },
);

it('shows what the person who denied a call wrote', () => {
  const decided = log('approval_decided', { detail: 'bob decided: deny', decision: 'deny', by: 'bob', message: 'Too expensive' });
  expect(applyEvents(emptyRun, [decided]).blocks).toEqual([
    { kind: 'note', event: 'approval_decided', text: 'bob denied the call: Too expensive' },
  ]);
});

it('shows a call that had no outcome when the run ended as stopped, and leaves the others', () => {
  const end = { type: 'status', data: { status: 'halted', current_turn: 1, task_id: 't' }, timestamp } as RunEvent;
  const stateAfter = (...events: RunEvent[]) => applyEvents(asked, [...events, end]).blocks[0];
  expect(stateAfter(log('approval_requested', { call_id: '1-1' }))).toMatchObject({ state: 'stopped' });
  expect(stateAfter(log('tool_denied', { call_id: '1-1', detail: 'no' }))).toMatchObject({ state: 'denied' });
  expect(stateAfter()).toMatchObject({ state: 'planned' });
});

it('leaves calls alone when a log line names none', () => {
  expect(applyEvents(asked, [log('tool_denied')]).blocks).toEqual(asked.blocks);
});

it('keeps the result that a message brings', () => {
  expect(applyEvents(asked, [message('tool', 'r', { call_id: '1-1' })]).blocks).toEqual([
    { ...blank, arguments: '{}', result: 'r' },
  ]);
});

it('begins again after a reset of the stream, and keeps partial text after any other log line', () => {
  const before = applyEvents(asked, [delta('par'), log('record_behind', { missing: 'step 2' }), log('progress')]);
  expect(before).toMatchObject({ partial: 'par', behind: 'step 2' });
  expect(applyEvents(before, [log('stream_reset')])).toEqual({
    ...emptyRun,
    logs: [{ event: 'stream_reset', detail: '', timestamp }],
  });
});

it('reads JSON that a person entered, or reports what is wrong with it', () => {
  expect([parseJson('{"a":1}'), parseJson('null')]).toEqual([{ value: { a: 1 } }, { value: null }]);
  expect(parseJson('{"a"')).toEqual({ wrong: expect.stringMatching(/^Not valid JSON: ./) });
});
