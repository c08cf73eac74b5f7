import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EVENT_TYPES, LogEntry, RunEvent } from '../../src/contracts/events.ts';
import { LOG_EVENTS } from '../../src/contracts/log-events.ts';
import { createTaskEvents } from '../../src/events/task-events.ts';
import { judgeEvent } from '../support/contract/foreign-events.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const at = '2026-01-31T12:00:00.000Z';

describe('the map of events', () => {
  it('lets only its names and fields compile', () => {
    const { log, status, message } = createTaskEvents('t', () => at);
    const more = { call_id: '1-0', name: 'bash', arguments: '{}' };
    const made = [
      log('completed', ''),
      log('model_call', 'm', { step: 1 }),
      log('tool_call', 'bash', { ...more, ...(at ? { attempt: 2 } : {}) }),
    ];
    expect(made.map(judgeEvent)).toEqual([null, null, null]);
    const wrong = [
      // @ts-expect-error: a misspelt event
      log('model_cal', 'm', { step: 1 }),
      // @ts-expect-error: a missing field
      log('model_call', 'm'),
      // @ts-expect-error: a misspelt field
      log('model_call', 'm', { stp: 1 }),
      // @ts-expect-error: a misspelt optional field
      log('tool_call', 'bash', { ...more, atempt: 2 }),
      // @ts-expect-error: a misspelt optional field of a spread
      log('tool_call', 'bash', { ...more, ...(at ? { atempt: 2 } : {}) }),
      // @ts-expect-error: a field of another type
      log('model_call', 'm', { step: '1' }),
      // @ts-expect-error: an unknown status
      status('runing', 1),
      // @ts-expect-error: a misspelt field of a message
      message('tool', '', { callid: '1-0' }),
    ];
    expect(wrong.map(judgeEvent)).not.toContain(null);
  });

  it('is what readers narrow to by name', () => {
    const event = createTaskEvents('t', () => at).log('tool_result', 'bash', { call_id: '1-0', name: 'bash', failed: true });
    expect(event.type === 'log' && event.data.event === 'tool_result' && event.data.failed).toBe(true);
    // @ts-expect-error: no event has this name
    expect(event.type === 'log' && event.data.event === 'tool_resul').toBe(false);
    // @ts-expect-error: the event has no such field
    expect(event.type === 'log' && event.data.event === 'tool_result' && event.data.fialed).toBe(undefined);
  });

  it('carries every figure of the usage under its own name, and the sums under those of other clients', () => {
    const usage = { total_in: 101, total_out: 53, cost: 0.017, cache_read: 31, cache_write: 13, premium_requests: 7 };
    const sums = { total_input_tokens: 101, total_output_tokens: 53, total_cost: 0.017, total_premium_requests: 7 };
    const events = createTaskEvents('t', () => at);
    expect(events.usage(usage)).toEqual({ type: 'usage', data: { ...usage, ...sums }, timestamp: at });
    expect(events.usage({ ...usage, estimated: true }).data).toEqual({ ...usage, ...sums, estimated: true });
    expect(events.status('failed', 3, { error: 'No', error_code: 'no' })).toEqual({
      ...{ type: 'status', timestamp: at },
      data: { status: 'failed', current_turn: 3, task_id: 't', error: 'No', error_code: 'no' },
    });
    expect(events.message('tool', 'x', { call_id: '1-0' }).data).toEqual({ role: 'tool', content: 'x', call_id: '1-0' });
    expect(events.delta('x').data).toEqual({ delta: 'x' });
  });

  it('says of each event when it happens', () => {
    for (const [name, { description }] of Object.entries({ ...LOG_EVENTS, ...EVENT_TYPES })) {
      expect(description, name).toMatch(/^[A-Z].*\.$/);
    }
  });

  it('has every event that SQL reads', () => {
    const files = globSync(['prisma/functions/**/*.sql', 'src/**/*.sql.ts'], { cwd: ROOT });
    const named = (pattern: RegExp) =>
      files.flatMap((file) => [...readFileSync(resolve(ROOT, file), 'utf8').matchAll(pattern)].map(([, name]) => name as string));
    const events = named(/data\s*->>\s*'event'\s*=\s*'(\w+)'/g);
    expect(events.length).toBeGreaterThan(1);
    expect(events.filter((name) => !(name in LOG_EVENTS))).toEqual([]);
  });

  it('holds the only events that SQL builds', () => {
    const builders = globSync(['prisma/functions/**/*.sql', 'src/**/*.sql.ts'], { cwd: ROOT }).filter((file) =>
      /'type',\s*'(log|message|message_delta|usage|status)'/.test(readFileSync(resolve(ROOT, file), 'utf8')),
    );
    // Only these statements know which work they closed, and which messages they moved.
    expect(builders.toSorted()).toEqual(
      ['close_open_work', 'end_task', 'hand_over_messages', 'take_messages'].map((name) => `prisma/functions/${name}.sql`),
    );
  });

  it('still shows events and fields of a later version', () => {
    const later = { event: 'of_later', detail: 'd', timestamp: at, more: 1 };
    expect(LogEntry.parse(later)).toEqual(later);
    const known = { event: 'completed', detail: 'd', timestamp: at, more: 1 };
    expect(LogEntry.parse(known)).toEqual(known);
    const frame = { type: 'log', data: { event: 'of_later', detail: 'd' }, timestamp: at };
    expect(RunEvent.parse(frame)).toEqual(frame);
  });
});
