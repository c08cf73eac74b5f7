import { describe, expect, it } from 'vitest';
import type { LogData, RunEvent } from '../../src/contracts/events.ts';
import type { LogName } from '../../src/contracts/log-events.ts';
import { applyEvents, emptyRun } from '../../src/dashboard/runs/run-state.ts';

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

it('drops the text of an attempt that is reset', () => {
  const run = applyEvents(emptyRun, [delta('wrong '), delta('half'), log('attempt_reset'), delta('right')]);
  expect(run.partial).toBe('right');
});

it('puts the complete message in the place of its pieces', () => {
  const run = applyEvents(applyEvents(emptyRun, [delta('Hel')]), [delta('lo'), message('assistant', 'Hello')]);
  expect(run).toMatchObject({ partial: '', blocks: [{ kind: 'text', text: 'Hello' }] });
});

it('follows a call from being asked for to its result', () => {
  const call = { call_id: '1-1', name: 'add', arguments: '{"a":1}' };
  const asked = applyEvents(emptyRun, [message('assistant', '', { tool_calls: [call] })]);
  expect(asked.blocks).toMatchObject([{ kind: 'call', state: 'planned', arguments: '{"a":1}' }]);
  const waiting = applyEvents(asked, [log('approval_requested', call)]);
  expect(waiting.blocks).toMatchObject([{ state: 'waiting_approval' }]);
  const done = applyEvents(waiting, [
    log('tool_call', call),
    log('tool_result', { call_id: '1-1', name: 'add', failed: true, duration_ms: 3, stdout: 'said' }),
    message('tool', '{"error":"no"}', { call_id: '1-1' }),
  ]);
  expect(done.blocks).toMatchObject([{ state: 'done', failed: true, duration_ms: 3, stdout: 'said', result: '{"error":"no"}' }]);
  expect(asked.blocks).toMatchObject([{ state: 'planned' }]);
});

it('waits for the decision about its record until that is made, and knows a call that is asked about after a restore', () => {
  const parked = applyEvents(emptyRun, [log('record_behind', { missing: 'step 2' })]);
  expect(parked.behind).toBe('step 2');
  expect(applyEvents(parked, [log('continuity_decided')]).behind).toBeNull();
  const call = { call_id: '1-1', name: 'pay', arguments: '{}' };
  const asked = applyEvents(emptyRun, [
    message('assistant', '', { tool_calls: [call] }),
    log('reconciliation_requested', { ...call, restored: true }),
  ]);
  expect(asked.blocks).toMatchObject([{ state: 'waiting_reconciliation', restored: true }]);
});

describe('what a run is doing now', () => {
  const call = { call_id: '3-1', name: 'add' };
  const doingAfter = (...events: RunEvent[]) => applyEvents(emptyRun, events).doing;
  const asked = { ...call, arguments: '{}', question: { id: 'q' } };
  const keyed = (event: LogName) => (CALLS.has(event) ? asked : { step: 3 });
  const CALLS = new Set<LogName>([
    ...(['tool_call', 'tool_result', 'tool_denied', 'approval_requested', 'approval_decided', 'question_asked'] as const),
    ...(['question_answered', 'reconciliation_requested', 'reconciliation_decided'] as const),
  ]);

  it.each<[begin: LogName, kind: string, ends: LogName[]]>([
    ['model_call', 'model', ['model_response']],
    ['retry', 'retry', ['model_response']],
    ['rate_limited', 'retry', ['model_response']],
    ['budget_exhausted', 'wait', ['model_response']],
    ['record_behind', 'wait', ['continuity_decided']],
    ['tool_call', 'tool', ['tool_result', 'tool_denied']],
    ['approval_requested', 'wait', ['approval_decided', 'tool_denied']],
    ['question_asked', 'wait', ['question_answered', 'tool_result']],
    ['reconciliation_requested', 'wait', ['reconciliation_decided', 'tool_result']],
  ])('begins with %s as %s and ends with each of %j', (begin, kind, ends) => {
    const other = log('tool_call', { call_id: '3-2', name: 'look' });
    expect(doingAfter(other, log(begin, keyed(begin)))).toMatchObject([{ key: '3-2' }, { kind, step: 3, since: timestamp }]);
    for (const end of ends)
      expect(doingAfter(other, log(begin, keyed(begin)), log(end, keyed(end))), end).toMatchObject([
        { key: '3-2', kind: 'tool' },
      ]);
  });

  it('is nothing once the run has ended, and leaves out what the provider does itself', () => {
    const status = (value: string): RunEvent => ({
      type: 'status',
      data: { status: value, current_turn: 1, task_id: 't' } as never,
      timestamp,
    });
    const begun = [log('model_call', { step: 1 }), log('tool_call', { ...call, ran_at: 'provider' })];
    expect(doingAfter(...begun, status('waiting'))).toMatchObject([{ kind: 'model' }]);
    for (const end of ['completed', 'failed', 'halted']) expect(doingAfter(...begun, status(end))).toEqual([]);
  });
});
