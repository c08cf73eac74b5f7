import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunSpan } from '../../src/contracts/run-inspection.ts';
import { ApiProblem } from '../../src/dashboard/api/call.ts';
import { budgetUse } from '../../src/dashboard/runs/budget-use.ts';
import { formatElapsed, stepLine } from '../../src/dashboard/runs/compared.ts';
import { doingAfter } from '../../src/dashboard/runs/run-now.ts';
import { emptyRun } from '../../src/dashboard/runs/run-state.ts';
import { computeAxis, computeBar, computeDepths, getDurationMs } from '../../src/dashboard/runs/span-scale.ts';
import { closeScreens, openScreens, readButtons, readFacts, readLinks, SHOWN_TASK, toText } from '../support/browser/rendered.ts';

const NOON = Date.UTC(2026, 0, 31, 12);
const at = (seconds: number) => new Date(NOON + seconds * 1_000).toISOString();
const page = (items: object[]) => ({ items, total: items.length, next: null });

let the: Awaited<ReturnType<typeof openScreens>>;
beforeAll(async () => {
  the = await openScreens(NOON);
}, 60_000);
afterAll(closeScreens);

const USAGE = { total_in: 1_009, total_out: 211, cache_read: 0, cache_write: 0, premium_requests: 0, cost: 7.5 };
const TASK = {
  ...SHOWN_TASK,
  ...{ status: 'completed', usage: USAGE, priced: true, truncated: false, definition_hash: 'abcdef0123', response: 'Seven.' },
  ...{ created_at: at(0), started_at: at(0), completed_at: at(5), elapsed_seconds: 5 },
  ...{ trigger: 'prompt', scheduled_agent_id: null },
};
const CALL = {
  ...{ call_id: '3-1', name: 'look', arguments: '{"a":7}', effect: 'read', attempts: 5, failed: false, result: 'Found it.' },
  ...{ answered_by: null, decided_by: null, stdout: null, stderr: null },
};
const STEP = {
  ...{ step: 3, model: 'large', provider_name: 'near', fallback: 0, attempts: 7, finish: 'stop', usage: USAGE, input: [] },
  ...{ output: 'Seven.', tool_calls: [CALL], error: null, duration_ms: 503, ended_at: at(3) },
};
const SPAN: RunSpan = {
  ...{ id: '3', parent: null, kind: 'model', step: 3, name: 'large', status: 'completed', attempts: 7, detail: null },
  ...{ copied: false, start: at(-11), end: at(-4), usage: null },
};

describe('the time axis of a run', () => {
  const span = (more: Partial<RunSpan>): RunSpan => ({ ...SPAN, ...more });
  const [open, planned, copied] = [
    span({ id: '5', start: at(-3), end: null }),
    span({ id: '7', start: null, end: null }),
    span({ id: '1', copied: true, start: at(-9_000), end: at(-8_000) }),
  ];

  it('reaches from the first start to now while something is open, without what was copied', () => {
    expect(computeAxis([copied, span({}), planned], NOON)).toEqual({ from: NOON - 11_000, to: NOON - 4_000 });
    expect(computeAxis([copied, span({}), open], NOON)).toEqual({ from: NOON - 11_000, to: NOON });
    expect(computeAxis([copied, planned], NOON)).toEqual({ from: NOON, to: NOON + 1 });
  });

  it('has a bar for what was started in this run', () => {
    const axis = { from: NOON - 12_000, to: NOON };
    const percent = (part: number) => expect.closeTo(part * 100, 6);
    expect(computeBar(span({}), axis, NOON)).toEqual({ left: percent(1 / 12), width: percent(7 / 12) });
    expect(computeBar(open, axis, NOON)).toEqual({ left: percent(9 / 12), width: percent(3 / 12) });
    expect([computeBar(planned, axis, NOON), computeBar(copied, axis, NOON)]).toEqual([null, null]);
  });

  it('measures what is open up to now, and what was not started not at all', () => {
    expect([span({}), open, planned].map((one) => getDurationMs(one, NOON))).toEqual([7_000, 3_000, null]);
  });

  it('nests what belongs to something else, also if that is not listed', () => {
    const parents = { '3': null, '3-1': '3', 'approval-3-1': '3-1', '5-1': '5' };
    const spans = Object.entries(parents).map(([id, parent]) => span({ id, parent }));
    expect(Object.fromEntries(computeDepths(spans))).toEqual({ '3': 0, '3-1': 1, 'approval-3-1': 2, '5-1': 1 });
  });
});

describe('the panel of a step', () => {
  const shown = (span: object, step: object = {}) =>
    the.render(the.SpanPanel, {
      props: { task: TASK, now: NOON, close() {}, span: { ...SPAN, ...span } },
      replies: { get_task_step: { ...STEP, ...step } },
    });

  it('names the provider, and which fallback it was', () => {
    const provider = (step: object) => readFacts(shown({}, step)).Provider;
    expect([
      provider({}),
      provider({ fallback: 2 }),
      provider({ provider_name: null, fallback: 1 }),
      provider({ provider_name: null }),
    ]).toEqual(['near', 'near (fallback 2)', 'default runtime (fallback 1)', undefined]);
  });

  it('says that a step was copied, or not started', () => {
    expect(toText(shown({ copied: true }))).toContain('Copied from the source run');
    expect(readFacts(shown({ kind: 'wait', start: null, end: null }))).toMatchObject({ Start: 'not started', Duration: '—' });
  });

  it('shows a call with who answered and who decided, its result and its outputs', () => {
    const of = (call: object) => shown({ id: '3-1', kind: 'tool', name: 'look' }, { tool_calls: [{ ...CALL, ...call }] });
    const html = of({ answered_by: 'bob', decided_by: 'carol', stdout: 'spoken', stderr: 'warned' });
    expect(readFacts(html)).toMatchObject({ Effect: 'read', Attempts: '5', 'Answered by': 'bob', 'Decided by': 'carol' });
    expect(toText(html)).toMatch(/Result .*Found it\..*Standard output .*spoken.*Standard error .*warned/);
    const open = of({ result: null, arguments: '' });
    expect(toText(open)).toMatch(/Arguments .*\{\}.*No result yet\./);
    expect(toText(open)).not.toMatch(/Standard|Answered|Decided/);
  });
});

describe('the steps of a run', () => {
  const shown = (spans: object[], address = '/') =>
    toText(
      the.render(the.Steps, {
        ...{ props: { task: TASK, status: 'running', version: 0 }, at: address },
        replies: { get_task_timeline: spans as never },
      }),
    );

  it('say that there are none, that none is chosen, or that the chosen one is not there', () => {
    expect(shown([])).toBe('No steps yet.');
    expect(shown([SPAN])).toContain('Select a row to see its details.');
    expect(shown([SPAN], '/?step=11')).toContain('This run has no step 11.');
  });
});

describe('what a run is doing', () => {
  const event = (data: object) => ({ type: 'log', timestamp: at(7), data }) as never;
  it('is not changed by a call that runs at the provider', () => {
    const doing = [{ key: 'step', kind: 'model', step: 3, name: 'large', since: at(5) }] as const;
    const call = { event: 'tool_call', call_id: '3-1', name: 'search', detail: 'search' };
    expect(doingAfter(doing, event({ ...call, ran_at: 'provider' }))).toEqual(doing);
    expect(doingAfter(doing, event(call))).toEqual([
      ...doing,
      { key: '3-1', kind: 'tool', step: 3, name: 'search', since: at(7) },
    ]);
  });
});

describe('the tasks of a list', () => {
  it('are more than counted, and each error is a filter', () => {
    const replies = {
      list_tasks: { items: [{ ...TASK, prompt: '' }], total: 1_000, next: 'more' },
      list_task_errors: [{ error_code: 'model_error', runs: 7, last_error: null }] as never,
    };
    const html = the.render(the.Tasks, { replies, at: '/tasks?error_code=model_error' });
    expect(toText(html)).toContain('1 of 1,000+');
    expect(html).toContain('aria-label="Select (empty)"');
    expect(toText(html)).toContain('model_error · 7');
  });
});

describe('the calls that are approved together', () => {
  it('leave out one whose arguments are cut', () => {
    const line = (id: string, arguments_cut: boolean) => ({
      ...{ id, task_id: `t${id}`, title: 'Daily', prompt: 'Pay.', since: at(-7), act: async () => {} },
      call: { tool: `pay${id}`, arguments: '{}', arguments_cut },
    });
    const action = { label: 'Approve', question: 'Approve?', done: 'approved', nothing: 'None waits.' };
    const props = { action, lines: [line('3', false), line('7', true)], close() {}, busy: false, setBusy() {} };
    const html = the.render(the.Review, { props });
    expect(
      [...html.matchAll(/<input([^>]*)>/g)].map(([, attributes]) => /\s(?:checked|disabled)/.exec(attributes!)?.[0]),
    ).toEqual([' checked', ' disabled']);
    expect(toText(html).split('Only the beginning is shown')).toHaveLength(2);
    expect(Object.keys(readButtons(html))).toContain('Approve 1');
    expect(toText(the.render(the.Review, { props: { ...props, lines: [] } }))).toBe('None waits.');
  });
});

describe('the log of a run', () => {
  it('has its lines in their order, or says that there are none', () => {
    const line = (event: string, detail: string) => ({ timestamp: at(1), event, detail });
    const lines = [line('run_started', 'Begins.'), line('completed', 'Ends.')];
    expect(toText(the.render(the.RunLog, { props: { lines } }))).toMatch(/run_started Begins\. .*completed Ends\./);
    expect(toText(the.render(the.RunLog, { props: { lines: [] } }))).toBe('No log entries yet.');
  });
});

describe('the to-do list of a run', () => {
  const todos = [
    { id: 1, title: 'Read', status: 'done' },
    { id: 2, title: 'Write', status: 'in-progress' },
    { id: 3, title: 'Send', status: 'not-started' },
  ];
  const shown = (progress: object, call: object = {}) =>
    the.render(the.Todos, {
      props: { task_id: 't', calls: [{ name: 'manage_todo_list', state: 'done', ...call }] },
      replies: { get_task_progress: progress },
    });

  it('says how much is done, what is in progress, and how each item stands', () => {
    const html = shown({ todos, current_step: 'Write', percent_complete: 33 });
    expect(toText(html)).toBe('33 % done: Write Read (done) Write (in-progress) Send (not-started)');
    expect([...html.matchAll(/data-tone="(\w+)"/g)].map(([, tone]) => tone)).toEqual(['good', 'busy', 'quiet']);
    expect(toText(shown({ todos, current_step: '', percent_complete: 33 }))).toMatch(/^33 % done Read/);
  });

  it('is absent until the agent has written it', () => {
    expect(shown({ todos: [], current_step: '', percent_complete: 0 })).not.toContain('done');
  });
});

describe('the figures of a run', () => {
  it('have words for what is not known', () => {
    expect(formatElapsed({ elapsed_seconds: null })).toBe('—');
    const step = { ...STEP, model: null, error: 'No answer', tool_calls: [], usage: { ...USAGE, cost: null } };
    expect(stepLine(step as never)).toBe('default · 503 ms · 1,220 tokens · unknown · No answer');
    const props = { task: { ...TASK, model: null, started_at: null, elapsed_seconds: null, usage: { ...USAGE, cost: null } } };
    const limits = { max_cost_usd: 2.5, max_tokens: null, max_seconds: 60, on_exhausted: 'wait' };
    const replies = { get_task: { ...props.task, budget: limits, forks: [], priced: false, waiting_seconds: 0 } };
    const followed = { run: emptyRun, connection: 'ended', problem: null };
    const facts = readFacts(the.render(the.RunFacts, { props: { ...props, status: 'pending', followed }, replies }));
    expect(facts).toMatchObject({
      ...{ Model: 'default', Duration: '—', Cost: 'unknown' },
      Budget: 'unknown of $2.50 0 ms of 1 min 0 s',
    });
  });

  it('lead from a turn to its conversation, and from another run to none', () => {
    const followed = { run: emptyRun, connection: 'ended', problem: null };
    const show = (thread_id: string | null) => {
      const task = { ...TASK, thread_id, thread_turn: 7 };
      const replies = { get_task: { ...task, budget: null, forks: [], priced: true, waiting_seconds: 0 } };
      return the.render(the.RunFacts, { props: { task, status: 'completed', followed }, replies });
    };
    expect(show('h')).toMatch(/href="\/chat\/h"[^>]*>turn 7</);
    expect(show(null)).not.toContain('/chat/');
  });

  it('name each limit of a budget and how much of it is used', () => {
    const used = { cost: 0.12, tokens: 1_200, seconds: 83 };
    const unknown = { ...used, cost: null };
    const limits = { max_cost_usd: null, max_tokens: null, max_seconds: null };
    expect([
      budgetUse({ ...limits, max_cost_usd: 2.5, max_tokens: 5_000 }, used),
      budgetUse({ ...limits, max_cost_usd: 2.5 }, unknown),
      budgetUse({ ...limits, max_cost_usd: 2.5 }, { ...used, cost: 0 }),
      budgetUse({ ...limits, max_seconds: 120 }, used),
      budgetUse(limits, used),
      budgetUse(null, used),
    ]).toEqual([
      [
        { text: '$0.12 of $2.50', part: expect.closeTo(0.048, 6) },
        { text: '1,200 of 5,000 tokens', part: expect.closeTo(0.24, 6) },
      ],
      [{ text: 'unknown of $2.50', part: 0 }],
      [{ text: '$0 of $2.50', part: 0 }],
      [{ text: '1 min 23 s of 2 min 0 s', part: expect.closeTo(83 / 120, 6) }],
      [],
      [],
    ]);
  });
});

describe('the conversation of a run', () => {
  it('has the arguments of a call, also if there are none', () => {
    const call = {
      ...CALL,
      kind: 'call',
      arguments: '',
      state: 'done',
      duration_ms: null,
      progress: null,
      files: [],
      restored: false,
    };
    const run = { ...emptyRun, blocks: [{ ...call, cause: null, question: null }] };
    const text = toText(the.render(the.Transcript, { props: { task: TASK, followed: { run, connection: 'ended' } } }));
    expect(text).toMatch(/Arguments \{\} .*Result Found it\./);
  });

  it('formats JSON, and keeps text that only begins like it', () => {
    const block = (role: string, text: string) => ({ kind: 'text', role, text });
    const blocks = [block('user', '{"a":7}'), block('assistant', '[11]'), block('user', '{no}'), block('assistant', '[*so*]')];
    const run = { ...emptyRun, blocks };
    const html = the.render(the.Transcript, { props: { task: TASK, followed: { run, connection: 'ended' } } });
    expect([...html.matchAll(/<pre[^>]*>([^<]*)/g)].map(([, text]) => text!.replaceAll('&quot;', '"'))).toEqual([
      '{\n  "a": 7\n}',
      '[\n  11\n]',
    ]);
    expect(html).toContain('{no}');
    expect(html).toContain('<em>so</em>');
  });
});

describe('the errors of a list of runs', () => {
  it('are counted by their code, or there are none', () => {
    const row = { error_code: 'model_error', runs: 1_009, last_at: at(-60), last_task_id: 't7', last_error: null };
    const shown = (rows: object[]) =>
      the.render(the.ErrorsTable, { props: { query: {}, choose() {} }, replies: { list_task_errors: rows as never } });
    expect(readLinks(shown([row]))).toEqual({ 'open the run': '/tasks/t7' });
    expect(toText(shown([row]))).toContain('model_error 1,009');
    expect(toText(shown([]))).toBe('No run with these filters has an error.');
  });
});

describe('the comparison of runs', () => {
  const run = (id: string, more: object = {}) => ({ ...TASK, id, steps_detail: [STEP], messages: [], ...more });
  const shown = (runs: Record<string, object>) =>
    the.render(the.Compare, {
      at: `/runs/compare?ids=${Object.keys(runs)}`,
      replies: {
        get_task: ({ params: { id } }: { params: { id: string } }) => runs[id],
        list_workflow_versions: page([{ number: 3, definition_hash: 'abcdef0123' }]),
      },
    });

  it('needs two runs, and shows why one of them cannot be read', () => {
    expect(toText(shown({ t1: run('t1') }))).toContain('Choose at least two runs');
    const gone = new ApiProblem({ status: 404, code: 'not_found', detail: 'No task with id t2' });
    expect(toText(shown({ t1: run('t1'), t2: gone }))).toContain('Not found No task with id t2.');
  });

  it('says what is the same', () => {
    const html = shown({ t1: run('t1'), t2: run('t2') });
    expect(toText(html)).toContain('Answer The same. Conversation The same.');
    expect(html).not.toContain('class="differs"');
    expect(toText(html)).not.toContain('read again every few seconds');
  });

  it('marks what differs, with words for what is not known', () => {
    const open = { status: 'running', model: null, prompt: '', steps_detail: [], response: 'Eleven.', messages: [] };
    const html = shown({ t1: run('t1'), t2: run('t2', open) });
    const marked = [...html.matchAll(/<div class="differs">(.*?)<\/div>/g)].map(([, cell]) => toText(cell!));
    expect(marked).toEqual(['(empty)', 'running', 'default', '0 calls', '—']);
    expect(toText(html)).toContain('A run that has not ended is read again every few seconds.');
    expect(toText(html)).toContain('From Run A to Run B Answer Seven Eleven');
  });

  it('has no steps before the first one was made', () => {
    const pending = { steps_detail: [], status: 'pending' };
    expect(toText(shown({ t1: run('t1', pending), t2: run('t2', pending) }))).not.toContain('Step 1');
  });
});
