import { expect, it } from 'vitest';
import { formatEvent } from '../../../src/main/remote/show-run.ts';

const timestamp = '2026-01-31T12:00:00.000Z';

it.each([
  [{ type: 'log', data: { event: 'tool_call', detail: 'add' } }, '12:00:00  tool_call: add'],
  [{ type: 'log', data: { event: 'run_started', detail: '' } }, '12:00:00  run_started'],
  [{ type: 'message', data: { role: 'assistant', content: 'Two\nlines.' } }, '12:00:00  assistant: Two lines.'],
  [{ type: 'message', data: { role: 'tool', content: `${'x'.repeat(300)}` } }, `12:00:00  tool: ${'x'.repeat(200)}…`],
  [{ type: 'status', data: { status: 'completed', current_turn: 1, task_id: 't' } }, '12:00:00  status: completed'],
  [{ type: 'message_delta', data: { delta: 'Tw' } }, null],
  [{ type: 'of_later', data: { text: 'Tw' } }, null],
  [{ type: 'log', data: { event: 'tool_result', detail: '\u001b[2J\u009bhidden\u0007' } }, '12:00:00  tool_result: [2Jhidden'],
])('%j is one line that cannot steer a terminal', (event, line) => {
  expect(formatEvent({ ...event, timestamp } as unknown as Parameters<typeof formatEvent>[0])).toBe(line);
});
