import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { PerduraClient, TaskEvent } from '../../../src/client/index.ts';
import { createTextPrinter, followRun, formatEvent } from '../../../src/main/remote/show-run.ts';

const timestamp = '2026-01-31T12:00:00.000Z';

it.each([
  [{ type: 'log', data: { event: 'tool_call', detail: 'add' } }, '12:00:00 +00:00  tool_call: add'],
  [{ type: 'log', data: { event: 'run_started', detail: '' } }, '12:00:00 +00:00  run_started'],
  [{ type: 'message', data: { role: 'assistant', content: 'Two\nlines.' } }, '12:00:00 +00:00  assistant: Two lines.'],
  [
    { type: 'message', data: { role: 'assistant', content: '', tool_calls: [{ name: 'pay' }] } },
    '12:00:00 +00:00  assistant: [{"name":"pay"}]',
  ],
  [{ type: 'message', data: { role: 'assistant', content: '' } }, '12:00:00 +00:00  assistant: ""'],
  [{ type: 'message', data: { role: 'tool', content: `${'x'.repeat(300)}` } }, `12:00:00 +00:00  tool: ${'x'.repeat(200)}…`],
  [{ type: 'status', data: { status: 'completed', current_turn: 1, task_id: 't' } }, '12:00:00 +00:00  status: completed'],
  [{ type: 'message_delta', data: { delta: 'Tw' } }, null],
  [{ type: 'of_later', data: { text: 'Tw' } }, null],
  [
    { type: 'log', data: { event: 'tool_result', detail: '\u001b[2J\u009bhidden\u0007' } },
    '12:00:00 +00:00  tool_result: [2Jhidden',
  ],
])('%j is one line that cannot steer a terminal', (event, line) => {
  expect(formatEvent({ ...event, timestamp } as unknown as Parameters<typeof formatEvent>[0])).toBe(line);
});

afterEach(() => vi.restoreAllMocks());

/** Keeps what is printed from now on. */
function listen() {
  const printed = { out: '', errors: '' };
  const keep = (stream: keyof typeof printed) => (chunk: unknown) => {
    printed[stream] += chunk;
    return true;
  };
  vi.spyOn(process.stdout, 'write').mockImplementation(keep('out'));
  vi.spyOn(process.stderr, 'write').mockImplementation(keep('errors'));
  return printed;
}

const toEvent = (type: string, data: object) => ({ type, data, timestamp }) as TaskEvent;
const delta = (text: string) => toEvent('message_delta', { delta: text });
const answer = (content: string) => toEvent('message', { role: 'assistant', content });
const reset = toEvent('log', { event: 'attempt_reset', detail: '' });
const BROKEN = '\n(the answer breaks off here and is written again)\n';

describe.each<[string, TaskEvent[], onTerminal: string, elsewhere: string, noted: string]>([
  ['an answer in pieces', [delta('Go'), delta('od.'), answer('Good.')], 'Good.\n', 'Good.\n', ''],
  ['an answer as a whole', [answer('Good.')], 'Good.\n', 'Good.\n', ''],
  ['two answers', [delta('A.'), answer('A.'), answer('B.')], 'A.\nB.\n', 'A.\nB.\n', ''],
  ['calls without text', [answer('')], '', '', ''],
  ['an answer that breaks off', [delta('Go'), reset, delta('Good.'), answer('Good.')], 'GoGood.\n', 'Good.\n', BROKEN],
  ['an answer whose end was lost with the connection', [delta('Go'), answer('Good.')], 'Good.\n', 'Good.\n', ''],
  [
    'an answer that a guardrail changed',
    [delta('Call 17'), answer('Call [phone]')],
    'Call 17Call [phone]\n',
    'Call [phone]\n',
    BROKEN,
  ],
  ['an attempt that breaks off before its text', [reset, answer('Good.')], 'Good.\n', 'Good.\n', ''],
])('%s', (_, events, on_terminal, elsewhere, noted) => {
  it.each([
    [true, on_terminal, noted],
    [false, elsewhere, ''],
  ])('is printed as it arrives on a terminal, otherwise whole: %s', (isTTY, out, errors) => {
    Object.defineProperty(process.stdout, 'isTTY', { value: isTTY, configurable: true });
    onTestFinished(() => void Reflect.deleteProperty(process.stdout, 'isTTY'));
    const printed = listen();
    const show = createTextPrinter();
    for (const event of events) show(event);
    expect(printed).toEqual({ out, errors });
  });
});

it('prints for people what is not text of the answer, and nothing of what it does not know', () => {
  const printed = listen();
  const show = createTextPrinter();
  for (const event of [toEvent('status', { status: 'completed' }), toEvent('of_later', {})]) show(event);
  expect(printed).toEqual({ out: '', errors: '12:00:00 +00:00  status: completed\n' });
});

describe('a run that is followed', () => {
  const follow = (events: (signal: AbortSignal) => AsyncIterable<TaskEvent>) => {
    const tasks = { events: (_: string, { signal }: { signal: AbortSignal }) => events(signal), get: async () => ({ id: 't' }) };
    return followRun({ client: { tasks } as unknown as PerduraClient, task_id: 't1', show: () => {} });
  };

  it.each([
    ['approval_requested', 'It waits for you: perdura approve t1 (or deny)\n'],
    ['question_asked', expect.stringContaining('It waits for your answer: give it on the page of the run')],
    ['tool_call', ''],
    [
      'unpriced_model',
      'It waits for a price of large at gateway: set it there and send the budget again with POST /api/tasks/t1/budget, or send one with max_tokens instead of max_cost_usd\n',
      { on_exhausted: 'wait', model: 'large', provider: 'gateway' },
    ],
    [
      'unpriced_model',
      expect.stringContaining('a price of its default model at the default runtime'),
      { on_exhausted: 'wait', model: null, provider: null },
    ],
    ['unpriced_model', '', { on_exhausted: 'halt', model: 'large', provider: 'gateway' }],
    ['budget_exhausted', 'It waits for a higher budget: POST /api/tasks/t1/budget\n', { on_exhausted: 'wait' }],
    ['budget_exhausted', '', { on_exhausted: 'halt' }],
  ])('that reports %s notes what to do', async (event, errors, data?: object) => {
    const printed = listen();
    await follow(async function* () {
      yield toEvent('log', { event, detail: '', ...data });
    });
    expect(printed).toEqual({ out: '', errors });
  });

  it('fails as its stream fails', async () => {
    // biome-ignore lint/correctness/useYield: a stream that fails before its first event
    const failing = follow(async function* () {
      throw new Error('It is gone');
    });
    await expect(failing).rejects.toThrow('It is gone');
  });
});
