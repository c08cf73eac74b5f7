import { expect, it } from 'vitest';
import type { LogData, LogName, RunEvent } from '../../src/contracts/events.ts';
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
