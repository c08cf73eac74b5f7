import { describe, expect, it } from 'vitest';
import { callSettings } from '../../src/contracts/call-settings.ts';
import type { LogData, RunEvent } from '../../src/contracts/events.ts';
import type { LogName } from '../../src/contracts/log-events.ts';
import type { RunSpan, StepRequest } from '../../src/contracts/run-inspection.ts';
import { budgetUse } from '../../src/dashboard/runs/budget-use.ts';
import { findNeighbours } from '../../src/dashboard/runs/neighbours.ts';
import { requestDiff } from '../../src/dashboard/runs/request-diff.ts';
import { nameRun } from '../../src/dashboard/runs/run-name.ts';
import { applyEvents, emptyRun } from '../../src/dashboard/runs/run-state.ts';
import { computeAxis, computeBar, computeDepths, getDurationMs } from '../../src/dashboard/runs/span-scale.ts';

const START = Date.UTC(2026, 0, 31, 12, 0, 0);
const at = (seconds: number) => new Date(START + seconds * 1000).toISOString();
const log = (seconds: number, event: LogName, more: object = {}): RunEvent => ({
  type: 'log',
  data: { event, detail: event, ...more } as LogData,
  timestamp: at(seconds),
});
const status = (to: 'running' | 'waiting' | 'failed' | 'completed' | 'halted' | 'pending'): RunEvent => ({
  type: 'status',
  data: { status: to, current_turn: 0, task_id: 't' },
  timestamp: at(0),
});
const doing = (...events: RunEvent[]) => applyEvents(emptyRun, events).doing;

describe('what a run is doing now', () => {
  const model = log(1, 'model_call', { step: 3, detail: 'gpt' });
  const tool = (seconds: number, call_id: string) => log(seconds, 'tool_call', { call_id, name: 'add', detail: 'add' });

  it('is to ask its model, until that has answered', () => {
    expect(doing(model)).toEqual([{ key: 'step', kind: 'model', step: 3, name: 'gpt', since: at(1) }]);
    expect(doing(model, log(2, 'model_response', { step: 3 }))).toEqual([]);
  });

  it('is each call that has not ended', () => {
    const both = [tool(2, '3-1'), tool(3, '3-2')];
    expect(doing(...both).map(({ key, step }) => [key, step])).toEqual([
      ['3-1', 3],
      ['3-2', 3],
    ]);
    expect(doing(...both, log(4, 'tool_result', { call_id: '3-1' })).map(({ key }) => key)).toEqual(['3-2']);
  });

  it('is to wait for a retry, and then to ask again', () => {
    expect(doing(model, log(2, 'retry', { step: 3 }))).toMatchObject([{ kind: 'retry', since: at(2) }]);
    expect(doing(model, log(2, 'retry', { step: 3 }), log(4, 'model_call', { step: 3 }))).toMatchObject([
      { kind: 'model', since: at(4) },
    ]);
  });

  it('is to wait for a person until the decision', () => {
    const asked = log(2, 'approval_requested', { call_id: '3-1', name: 'pay' });
    expect(doing(asked)).toMatchObject([{ kind: 'wait', name: 'approval of pay', step: 3 }]);
    expect(doing(asked, log(3, 'approval_decided', { call_id: '3-1' }))).toEqual([]);
    expect(doing(model, log(2, 'budget_exhausted', { step: 3 }))).toMatchObject([{ kind: 'wait', name: 'a higher budget' }]);
    const above = log(2, 'budget_exhausted', { step: 3, budget_id: 'b' });
    expect(doing(model, above)).toMatchObject([{ kind: 'wait', name: 'room in a budget' }]);
    expect(applyEvents(emptyRun, [model, above]).logs).toEqual([
      { event: 'model_call', detail: 'gpt', timestamp: at(1) },
      { event: 'budget_exhausted', detail: 'budget_exhausted', timestamp: at(2), budget_id: 'b' },
    ]);
  });

  it('is nothing when the run has ended', () => {
    expect(doing(model, status('failed'))).toEqual([]);
  });

  it('is still to ask the model while a tool runs at the provider', () => {
    const search = log(2, 'tool_call', { call_id: 'srv_1', name: 'web_search', ran_at: 'provider' });
    expect(doing(model, search).map(({ kind }) => kind)).toEqual(['model']);
  });
});

describe('the time axis of a run', () => {
  const span = (id: string, start: number | null, end: number | null, more: Partial<RunSpan> = {}): RunSpan => ({
    ...{ id, parent: null, kind: 'model', step: 1, name: 'm', status: 'completed', attempts: 1, detail: null, copied: false },
    start: start === null ? null : at(start),
    end: end === null ? null : at(end),
    usage: null,
    ...more,
  });
  const now = START + 20_000;

  it('reaches from the first start to the last end, or to now', () => {
    expect(computeAxis([span('1', 2, 4), span('2', 5, 10)], now)).toEqual({ from: START + 2_000, to: START + 10_000 });
    expect(computeAxis([span('1', 2, null)], now).to).toBe(now);
  });

  it('leaves out what was copied from another run, and what has not started', () => {
    const spans = [span('1', -900, -800, { copied: true }), span('2', 0, 10), span('2-1', null, null)];
    const axis = computeAxis(spans, now);
    expect(axis).toEqual({ from: START, to: START + 10_000 });
    expect(spans.map((one) => computeBar(one, axis, now))).toEqual([null, { left: 0, width: 100 }, null]);
  });

  it('places a bar in percent', () => {
    const axis = { from: START, to: START + 20_000 };
    expect(computeBar(span('1', 5, 10), axis, now)).toEqual({ left: 25, width: 25 });
    expect(computeBar(span('1', 10, null), axis, now)).toEqual({ left: 50, width: 50 });
    expect(getDurationMs(span('1', 10, null), now)).toBe(10_000);
  });

  it('has a width although nothing took time', () => {
    const axis = computeAxis([span('1', 3, 3)], now);
    expect(axis.to).toBeGreaterThan(axis.from);
    expect(computeAxis([], now).to).toBeGreaterThan(now);
  });

  it('nests a retry in its call, and the call in its step', () => {
    const spans = [span('1', 0, 1), span('1-1', 1, 2, { parent: '1' }), span('1-1.7', 1, 2, { parent: '1-1' }), span('2', 2, 3)];
    expect([...computeDepths(spans).values()]).toEqual([0, 1, 2, 0]);
  });
});

describe('the budget of a run', () => {
  const none = { max_cost_usd: null, max_tokens: null, max_seconds: null };
  const used = { cost: 0.12, tokens: 1_200, seconds: 35 };

  it('is what is used of each limit, at most all of it', () => {
    expect(budgetUse({ ...none, max_tokens: 5_000 }, used)).toEqual([{ text: '1,200 of 5,000 tokens', part: 0.24 }]);
    expect(budgetUse({ ...none, max_tokens: 1_199 }, used)).toMatchObject([{ part: 1 }]);
    expect(budgetUse({ ...none, max_seconds: 0 }, used)).toMatchObject([{ part: 1 }]);
  });

  it('is not shown if nothing is limited', () => {
    expect([budgetUse(null, used), budgetUse(none, used)]).toEqual([[], []]);
  });
});

describe('what is new in the request of a step', () => {
  const changeable = {
    ...{ system_prompt: 'Be kind.', provider_id: null, model: 'm', output_format: 'json', reasoning_effort: null },
    ...{ custom_tool_ids: [], builtin_tools: [], mcp_server_ids: [] },
    ...callSettings({}),
  };
  const message = (step: number, position: number, content: string) => ({
    ...{ step, position, role: 'user', kind: 'prompt', content, tool_calls: null, call_id: null, extra: null },
  });
  const tool = (name: string) => ({ name, description: '', parameters: {} });
  const request = (more: Partial<StepRequest>): StepRequest => ({
    ...{ step: 2, model: 'm', instructions: 'Be kind.', system_prompt: 'Be kind.', skills: [], messages: [], tools: [] },
    ...{ parameters: {}, not_rebuilt: [], changeable },
    ...more,
  });

  it('is what the step before did not have', () => {
    const before = request({ messages: [message(0, 0, 'a'), message(1, 0, 'b')], tools: [tool('x'), tool('y')] });
    const now = request({ messages: [message(0, 0, 'a'), message(2, 0, 'c')], tools: [tool('y'), tool('z')], model: 'n' });
    const diff = requestDiff(before, now);
    expect(diff.messages.map(({ is_new }) => is_new)).toEqual([false, true]);
    expect(diff.removed.map(({ content }) => content)).toEqual(['b']);
    expect(diff).toMatchObject({ added_tools: ['z'], removed_tools: ['x'], changed: ['model'] });
  });

  it('is a message whose text differs', () => {
    const diff = requestDiff(request({ messages: [message(0, 0, 'a')] }), request({ messages: [message(0, 0, 'A')] }));
    expect(diff.messages).toMatchObject([{ is_new: true }]);
    expect(diff.removed).toEqual([]);
  });

  it('is everything at the first step', () => {
    const diff = requestDiff(null, request({ messages: [message(0, 0, 'a')], tools: [tool('x')] }));
    expect(diff).toMatchObject({ messages: [{ is_new: true }], added_tools: ['x'], removed_tools: [], changed: [] });
  });
});

describe('the runs that wait', () => {
  it('have neighbours in the order of the inbox; a run that does not wait comes before all of them', () => {
    const ids = ['a', 'b', 'c'];
    expect([...ids, 'x'].map((id) => findNeighbours(ids, id))).toEqual([
      { at: 0, previous: undefined, next: 'b' },
      { at: 1, previous: 'a', next: 'c' },
      { at: 2, previous: 'b', next: undefined },
      { at: -1, previous: undefined, next: 'a' },
    ]);
  });
});

describe('the name of a run', () => {
  const name = (workflow_title: string | null) =>
    nameRun({ id: '01a22177-d85a-72da-a128-f8fed132a31f', workflow_title, agent_name: 'Clerk' });

  it('has the end of its id, so that two runs of a workflow can be told apart in the tabs of a browser', () => {
    expect([name('Refund desk'), name(null)]).toEqual(['Refund desk · #a31f', 'Clerk · #a31f']);
  });

  it('keeps the digits of the id behind a name that is read from right to left', () => {
    expect([name('مرحبا'), name('שלום')]).toEqual(['\u2068مرحبا\u2069 · #a31f', '\u2068שלום\u2069 · #a31f']);
  });
});
