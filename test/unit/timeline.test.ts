import { describe, expect, it } from 'vitest';
import type { RecordedStatus } from '../../src/store/runs/recorded-events.ts';
import { buildTimeline, sumWaitingMs, type TIMED_LOGS, type TimedEvent, type TimedLog } from '../../src/store/runs/timeline.ts';

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 31, 12, 0, 0) + seconds * 1000);
const iso = (seconds: number) => at(seconds).toISOString();

let seq = 0;
const log = (seconds: number, event: (typeof TIMED_LOGS)[number], more: object = {}): TimedEvent => ({
  seq: ++seq,
  type: 'log',
  data: { event, detail: event, ...more } as TimedLog['data'],
  timestamp: at(seconds),
});
const status = (seconds: number, to: RecordedStatus['data']['status']): RecordedStatus => ({
  seq: ++seq,
  type: 'status',
  data: { status: to, current_turn: 0, task_id: 't' },
  timestamp: at(seconds),
});

const running = { status: 'running', completed_at: null, fork_step: null };
const ended = (to: string, seconds: number) => ({ ...running, status: to, completed_at: at(seconds) });
const step = (number: number, start: number, end: number | null, more: object = {}) => ({
  ...{ step: number, model: 'm', attempts: 1, error: null },
  ...{ total_in: 0, total_out: 0, cost: 0, unpriced: false, estimated: false, passed_on: null },
  started_at: at(start),
  ended_at: end === null ? null : at(end),
  ...more,
});
const call = (call_id: string, start: number | null, end: number | null, more: object = {}) => ({
  ...{ call_id, step: Number.parseInt(call_id, 10), name: 'pay', status: 'done', failed: false, attempts: 1 },
  started_at: start === null ? null : at(start),
  ended_at: end === null ? null : at(end),
  ...more,
});

const brief = (spans: ReturnType<typeof buildTimeline>) => spans.map(({ id, parent, status: is }) => [id, parent, is]);

describe('the timeline of a run', () => {
  it('shows a switch to a fallback as a retry at once, with the failure that led to it', () => {
    const detail = 'No credit; asking spare of other instead';
    const spans = buildTimeline({
      task: running,
      steps: [step(1, 0, 7)],
      calls: [],
      events: [log(3, 'fallback', { step: 1, error_code: 'quota_exhausted', detail })],
    });
    expect(spans[1]).toMatchObject({ parent: '1', kind: 'retry', name: 'quota_exhausted', detail, start: iso(3), end: iso(3) });
  });

  it('lists each step, then its calls in order, each with its own times', () => {
    const spans = buildTimeline({
      task: running,
      steps: [step(1, 0, 2), step(2, 9, null)],
      calls: [call('1-1', 2, 5), call('1-2', 2, 9, { failed: true }), call('1-3', null, null, { status: 'planned' })],
      events: [],
    });
    expect(brief(spans)).toEqual([
      ['1', null, 'completed'],
      ['1-1', '1', 'completed'],
      ['1-2', '1', 'failed'],
      ['1-3', '1', 'planned'],
      ['2', null, 'running'],
    ]);
    expect(spans[2]).toMatchObject({ kind: 'tool', name: 'pay', start: iso(2), end: iso(9) });
    expect(spans[3]).toMatchObject({ start: null, end: null });
    expect(spans[4]).toMatchObject({ start: iso(9), end: null });
  });

  it('has what each model call used once it has answered, and an unknown cost without a price', () => {
    const used = { total_in: 1_009, total_out: 211, cost: 0.37 };
    const spans = buildTimeline({
      task: running,
      steps: [step(1, 0, 2, used), step(2, 3, 5, { ...used, cost: 0, unpriced: true, estimated: true }), step(3, 7, null, used)],
      calls: [call('1-1', 2, 3)],
      events: [],
    });
    expect(spans.map(({ id, usage }) => [id, usage])).toEqual([
      ['1', { ...used, priced: true, estimated: false }],
      ['1-1', null],
      ['2', { ...used, cost: null, priced: false, estimated: true }],
      ['3', null],
    ]);
  });

  it('has an unknown or estimated cost also if only an earlier model of the step had one', () => {
    const used = { total_in: 1_013, total_out: 223, cost: 0.41 };
    const passed_on = [
      { unpriced: false, estimated: true },
      { unpriced: true, estimated: false },
    ];
    const steps = [step(1, 0, 2, { ...used, passed_on }), step(2, 3, 5, { ...used, passed_on: [passed_on[0]] })];
    const spans = buildTimeline({ task: running, steps, calls: [], events: [] });
    expect(spans.map(({ usage }) => usage)).toEqual([
      { ...used, priced: false, estimated: true },
      { ...used, priced: true, estimated: true },
    ]);
  });

  it.each([
    ['started', 'running'],
    ['denied', 'denied'],
    ['waiting_approval', 'waiting'],
    ['waiting_answer', 'waiting'],
  ])('shows a call that is %s as %s', (status, shown) => {
    const spans = buildTimeline({ task: running, steps: [step(1, 0, 2)], calls: [call('1-1', 2, null, { status })], events: [] });
    expect(brief(spans)[1]).toEqual(['1-1', '1', shown]);
  });

  it.each(['failed', 'halted'])('gives what was open the status of a run that %s, and its end', (how) => {
    const spans = buildTimeline({
      task: ended(how, 7),
      steps: [step(1, 0, 2), step(2, 3, null, { error: 'refused' })],
      calls: [call('1-1', 2, 7, { failed: true }), call('1-2', 2, 3, { failed: true })],
      events: [],
    });
    expect(brief(spans)).toEqual([
      ['1', null, 'completed'],
      ['1-1', '1', how],
      ['1-2', '1', 'failed'],
      ['2', null, how],
    ]);
    expect(spans[3]).toMatchObject({ end: iso(7), detail: 'refused' });
  });

  it('has a row for a retry, which ends when the next attempt is due or the run ends', () => {
    const events = [
      log(1, 'retry', { step: 1, error_code: 'model_unavailable', wait_ms: 500 }),
      log(4, 'retry', { call_id: '1-1', wait_ms: 60_000 }),
    ];
    const steps = [step(1, 0, 3, { attempts: 2 })];
    const [, retry, , ofCall] = buildTimeline({ task: ended('halted', 9), steps, calls: [call('1-1', 3, 9)], events });
    expect(retry).toMatchObject({ kind: 'retry', parent: '1', name: 'model_unavailable', start: iso(1), end: iso(1.5) });
    expect(ofCall).toMatchObject({ kind: 'retry', parent: '1-1', step: 1, end: iso(9) });
  });

  it('shows a call that was tried again from its first start', () => {
    const events = [log(2, 'tool_call', { call_id: '1-1' }), log(8, 'tool_call', { call_id: '1-1' })];
    const spans = buildTimeline({ task: running, steps: [step(1, 0, 2)], calls: [call('1-1', 8, 9, { attempts: 2 })], events });
    expect(spans[1]).toMatchObject({ start: iso(2), end: iso(9) });
  });

  it('has a row for each wait for a person, which ends with the decision about it', () => {
    const events = [
      log(2, 'approval_requested', { call_id: '1-1' }),
      status(2, 'waiting'),
      log(3, 'approval_requested', { call_id: '1-2' }),
      log(5, 'approval_decided', { call_id: '1-2' }),
    ];
    const calls = [call('1-1', null, null, { status: 'waiting_approval' }), call('1-2', null, null, { status: 'planned' })];
    const task = { ...running, status: 'waiting' };
    const spans = buildTimeline({ task, steps: [step(1, 0, 2)], calls, events });
    expect(spans.map(({ kind, parent, status: is, end }) => [kind, parent, is, end])).toEqual([
      ['model', null, 'completed', iso(2)],
      ['tool', '1', 'waiting', null],
      ['wait', '1-1', 'waiting', null],
      ['tool', '1', 'planned', null],
      ['wait', '1-2', 'completed', iso(5)],
    ]);
  });

  it('has a row for a wait for the budget until the run resumes, and none if the run was halted instead', () => {
    const steps = [step(1, 0, null)];
    const spent = log(1, 'budget_exhausted', { step: 1 });
    const resumed = buildTimeline({
      task: running,
      steps,
      calls: [],
      events: [spent, status(1, 'waiting'), status(6, 'running')],
    });
    expect(resumed[1]).toMatchObject({
      kind: 'wait',
      name: 'budget',
      parent: '1',
      start: iso(1),
      end: iso(6),
      status: 'completed',
    });
    const halted = buildTimeline({ task: ended('halted', 2), steps, calls: [], events: [spent, status(2, 'halted')] });
    expect(halted).toHaveLength(1);
  });

  it('puts a wait after a restore at the step that was in progress', () => {
    const events = [log(4, 'record_behind'), status(4, 'waiting')];
    const task = { ...running, status: 'waiting' };
    const spans = buildTimeline({ task, steps: [step(1, 0, 2), step(2, 3, null)], calls: [], events });
    expect(brief(spans)).toEqual([
      ['1', null, 'completed'],
      ['2', null, 'waiting'],
      [expect.stringMatching(/^2\./), '2', 'waiting'],
    ]);
  });

  it('puts a wait before the first step at no step', () => {
    const events = [log(0, 'record_behind'), status(0, 'waiting')];
    const [span] = buildTimeline({ task: { ...running, status: 'waiting' }, steps: [], calls: [], events });
    expect(span).toMatchObject({ id: expect.stringMatching(/^0\./), parent: null, step: 0 });
  });

  it('keeps a retry before the first step, and marks what was copied from the source run', () => {
    const events = [log(1, 'rate_limited', { step: 3, wait_ms: 1000 })];
    const task = { ...running, fork_step: 2 };
    const spans = buildTimeline({ task, steps: [step(1, 0, 1)], calls: [], events });
    expect(spans).toMatchObject([
      { id: '1', copied: true },
      { kind: 'retry', parent: null, name: 'rate_limited' },
    ]);
  });
});

describe('the time that a run waited', () => {
  it('is the sum of its waits, the last one up to the end', () => {
    const changes = [status(0, 'running'), status(2, 'waiting'), status(5, 'running'), status(6, 'waiting')];
    expect(sumWaitingMs(changes, at(10))).toBe(7_000);
    expect(sumWaitingMs(changes.slice(0, 1), at(10))).toBe(0);
  });

  it('is never negative, although two clocks disagree', () => {
    expect(sumWaitingMs([status(6, 'waiting')], at(5))).toBe(0);
  });
});
