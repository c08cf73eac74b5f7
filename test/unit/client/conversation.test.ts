import { describe, expect, it } from 'vitest';
import type { CallQuestion, PerduraClient, TaskEvent } from '../../../src/client/index.ts';
import type { QuestionField } from '../../../src/domain/questions.ts';
import { formatReceipt } from '../../../src/main/conversation/conversation.ts';
import { askQuestion } from '../../../src/main/conversation/questions.ts';
import { createTurnPrinter } from '../../../src/main/conversation/turn-lines.ts';
import { toScreen } from '../../support/command-line.ts';

const timestamp = '2026-01-31T12:00:00.000Z';

/** Asks a question with these fields, and types these lines. Returns the prompts, and what was sent. */
async function answers(properties: Record<string, QuestionField>, required: string[], typed: string[]) {
  const sent: object[] = [];
  const client = { request: async (_: string, { body }: { body: object }) => sent.push(body) } as unknown as PerduraClient;
  const question = {
    ...{ id: 'q7', message: 'Who\u202e travels?', asked_by: { server: 'travel', host: null } },
    ...{ schema: { properties, required }, asked_at: timestamp, expires_at: timestamp },
  } as unknown as CallQuestion;
  const ask = askQuestion({ client, task_id: 't', call_id: '1-1', question, key: 'k' });
  const prompts: string[] = [];
  let is_done = false;
  for (const line of typed) {
    prompts.push(ask.prompt());
    is_done = await ask.answer(line);
  }
  return { lines: ask.lines, prompts, is_done, sent };
}

describe('a question', () => {
  it('is asked field by field, and each one until it fits', async () => {
    const properties: Record<string, QuestionField> = {
      email: { type: 'string', format: 'email', title: 'Your email' },
      seats: { type: 'integer', minimum: 1, default: 3 },
      window: { type: 'boolean', description: 'At the window' },
      class: {
        type: 'string',
        oneOf: [
          { const: 'b', title: 'Business' },
          { const: 'e', title: 'Economy' },
        ],
      },
      meals: { type: 'array', items: { enum: ['soup', 'fish', 'cake'] } },
      note: { type: 'string' },
    };
    const typed = ['', 'ada', 'ada@example.com', 'two', '', 'perhaps', 'y', 'First', 'Economy', 'soup, cake', ''];
    const { lines, prompts, is_done, sent } = await answers(properties, ['email', 'seats'], typed);
    expect(lines).toEqual([
      '? travel asks: Who‹U+202E› travels?',
      '    Your email (string; required)',
      '    seats (integer; required; by default 3)',
      '    window (boolean): At the window',
      '    class (one of Business, Economy)',
      '    meals (some of soup, fish, cake)',
      '    note (string)',
      '    /decline refuses to answer',
    ]);
    expect(prompts).toEqual([
      'Your email: ',
      'This field is required. Your email: ',
      'Must be an email address. Your email: ',
      'seats: ',
      'Must be a number. seats: ',
      'window: ',
      'Must be true or false. window: ',
      'class: ',
      'Must be among b, e. class: ',
      'meals: ',
      'note: ',
    ]);
    const content = { email: 'ada@example.com', seats: 3, window: true, class: 'e', meals: ['soup', 'cake'] };
    expect([is_done, sent]).toEqual([true, [{ question_id: 'q7', action: 'accept', content }]]);
  });

  it.each<[string, Record<string, QuestionField>, string[], object]>([
    ['is declined at any field', { email: { type: 'string' } }, ['/decline'], { action: 'decline' }],
    ['without fields is agreed to with y', {}, ['what?', 'y'], { action: 'accept', content: {} }],
    ['without fields is declined with n', {}, ['no'], { action: 'decline' }],
    ['takes no for false', { sure: { type: 'boolean' } }, ['no'], { action: 'accept', content: { sure: false } }],
  ])('%s', async (_, properties, typed, expected) => {
    const { is_done, sent } = await answers(properties, [], typed);
    expect([is_done, sent]).toEqual([true, [{ question_id: 'q7', ...expected }]]);
  });
});

it.each([
  ['started', null, 'started the run t5'],
  ['steered', null, 'was read by the run t5 at step 3'],
  ['pending', null, 'waits for the run t5, which reads it at its next step'],
  ['refused', 'The run was stopped', 'was refused: The run was stopped'],
  ['withdrawn', null, 'was withdrawn'],
] as const)('a message that is %s', (state, reason, line) => {
  expect(formatReceipt({ id: 'm2', thread_id: null, task_id: 't5', step: 3, state, reason })).toBe(line);
});

it('shows each tool call and result of a turn in one line, what explains a pause, and nothing else', () => {
  const shown: string[] = [];
  const output = {
    write: (text: string) => void shown.push(text),
    endLine: () => void shown.push('end'),
    note: (line: string) => void shown.push(line),
  };
  const log = (event: string, data: object = {}) => ({ type: 'log', data: { event, detail: 'why', ...data }, timestamp });
  const events = [
    ...[log('run_started'), { type: 'usage', data: {}, timestamp }, { type: 'status', data: { status: 'running' }, timestamp }],
    log('tool_call', { name: 'pay', arguments: '{"amount":\n 7}' }),
    { type: 'message', data: { role: 'tool', name: 'pay', content: `${'x'.repeat(300)}` }, timestamp },
    log('tool_result', { name: 'draw', files: [{ name: 'a.png' }, { name: 'b.png' }] }),
    log('tool_result', { name: 'search', result: 'Found 11' }),
    log('tool_result', { name: 'pay' }),
    ...[log('rate_limited'), log('approval_requested', { name: 'pay' }), log('budget_exhausted', { on_exhausted: 'wait' })],
    { type: 'message', data: { role: 'assistant', content: 'Paid.' }, timestamp },
  ];
  const print = (asks: boolean) => {
    shown.length = 0;
    const show = createTurnPrinter({ output, task_id: 't5', asks });
    for (const event of events) show(event as unknown as TaskEvent);
    return [...shown];
  };
  const budget = ['  · budget_exhausted: why', 'It waits for a higher budget: POST /api/tasks/t5/budget'];
  const calls = ['  → pay {"amount": 7}', `  ← pay ${'x'.repeat(196)}…`, '  ← draw [a.png] [b.png]', '  ← search Found 11'];
  const approval = 'It waits for you: perdura approve t5 (or deny)';
  expect(print(true)).toEqual([...calls, '  · rate_limited: why', ...budget, 'Paid.', 'end']);
  expect(print(false)).toEqual([...calls, '  · rate_limited: why', approval, ...budget, 'Paid.', 'end']);
});

it('the screen of a terminal is what its control sequences leave', () => {
  const output = 'One\r\n> abc\u001b[1G\u001b[0JTwo\r\nx\u0007yz\b\bY\u001b[1A\u001b[3G!\u001b[1B\r\n';
  expect(toScreen(output)).toEqual(['One', 'Tw!', 'xYz']);
});
