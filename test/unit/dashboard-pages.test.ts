import { type ComponentType, createElement, type ReactNode } from 'react';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { emptyRun } from '../../src/dashboard/runs/run-state.ts';
import { readReadiness, summarizeReadiness } from '../../src/dashboard/shell/readiness.ts';
import { TASK_STATUSES } from '../../src/domain/statuses.ts';
import { closeScreens, openScreens, readButtons, readFacts, readLinks, SHOWN_TASK, toText } from '../support/browser/rendered.ts';

const NOON = Date.UTC(2026, 0, 31, 12);
const at = (day: number, year = 2019) => new Date(Date.UTC(year, 2, day, 12, 11, 13)).toISOString();

let the: Awaited<ReturnType<typeof openScreens>>;
beforeAll(async () => {
  the = await openScreens(NOON);
}, 60_000);
afterAll(closeScreens);

const USAGE = { total_in: 101_009, total_out: 20_011, cache_read: 0, cache_write: 0, premium_requests: 0, cost: 61.27 };
const TASK = {
  ...SHOWN_TASK,
  ...{ status: 'running', usage: USAGE, truncated: false },
  ...{ created_at: at(5), started_at: at(5), completed_at: null, elapsed_seconds: 83 },
  ...{ definition_hash: 'abcdef01', trigger: 'prompt', scheduled_agent_id: null },
};
const page = (items: object[], total = items.length) => ({ items, total, next: null });

describe('a figure of the overview', () => {
  const replies = {
    list_tasks: ({ query: { status, count_to } }: { query: { status?: string; count_to: number } }) =>
      page([TASK], status === undefined ? 7 : status === 'completed' ? count_to : TASK_STATUSES.indexOf(status as never) + 11),
  };

  it('counts the runs of its status, and leads to them', () => {
    const html = the.render(the.Overview, { replies });
    const links = readLinks(html);
    const counts = TASK_STATUSES.map((status, index) => [status, status === 'completed' ? '10,000+' : `${index + 11}`]);
    expect(counts.map(([status, count]) => links[`${count} ${status}`])).toEqual(
      TASK_STATUSES.map((status) => `/tasks?status=${status}`),
    );
  });
});

describe('the health of the installation', () => {
  it('is read with its facts, also if it is not ready', async () => {
    const answer = (body: object, status: number) => vi.stubGlobal('fetch', async () => Response.json(body, { status }));
    const { signal } = new AbortController();
    answer({ checks: {} }, 503);
    expect(await readReadiness(signal)).toEqual({ checks: {} });
    answer({ detail: 'Not found' }, 404);
    await expect(readReadiness(signal)).rejects.toThrow('The service returned 404');
  });

  const checks = { database: { ok: true, detail: 'answers' }, bus: { ok: false, detail: 'no answer' } };
  const ready = (tool_isolation: string, more: object = {}) => ({ ready: { status: 'ready', tool_isolation, checks, ...more } });

  it('names what fails, and a service that is out of reach', () => {
    const data = { status: 'not_ready', tool_isolation: 'namespaces', checks } as const;
    expect(summarizeReadiness(data, null)).toEqual({ isolation: 'namespaces', trouble: 'bus: no answer.' });
    const ended = { ok: false, detail: 'Run perdura migrate.' };
    expect(summarizeReadiness({ ...data, checks: { migrations: ended } }, null).trouble).toBe('migrations: Run perdura migrate.');
    expect(summarizeReadiness({ ...data, checks: { database: checks.database } }, null)).toMatchObject({ trouble: null });
    expect(summarizeReadiness(undefined, new Error('no'))).toEqual({
      ...{ isolation: null, trouble: 'It is unreachable. Check that it is running. This page keeps trying.' },
    });
    expect(summarizeReadiness(undefined, null)).toEqual({ isolation: null, trouble: null });
  });

  it.each([
    ['process', 'Tools run without isolation.'],
    ['refused', 'Tools do not run on this machine'],
  ])('warns on every screen about tools that are %s', (isolation, warning) => {
    const text = toText(the.render(the.Banners, { replies: ready(isolation) }));
    expect(text).toContain(warning);
    expect(text).toContain('The service is not ready. bus: no answer.');
  });

  it.each(['namespaces', 'landlock'])('warns of nothing if tools are confined by %s', (isolation) => {
    const fine = ready(isolation, { checks: { database: checks.database } });
    expect(toText(the.render(the.Banners, { replies: fine }))).toBe('');
  });

  it('marks what fails, and tools that nothing confines', () => {
    const tools = { tools: { ok: true, detail: 'NOT confined' }, ...checks };
    const tones = (isolation: string) =>
      [
        ...the
          .render(the.Overview, { replies: ready(isolation, { checks: tools }) })
          .matchAll(/data-tone="(\w+)" data-look="line"><svg.*?<\/svg><span><strong[^>]*>([^<]+)/g),
      ]
        .map(([, tone, name]) => `${name} ${tone}`)
        .sort();
    expect(tones('process')).toEqual(['Database good', 'Event bus bad', 'Tools bad']);
    expect(tones('namespaces')).toEqual(['Database good', 'Event bus bad', 'Tools good']);
    const other = ready('namespaces', { checks: { seventh: { ok: true, detail: 'of a newer version' } } });
    expect(toText(the.render(the.Overview, { replies: other }))).toContain('seventh of a newer version');
  });
});

describe('the actions on a run', () => {
  const buttons = (status: string, more: object = {}) =>
    readButtons(the.render(the.RunActions, { props: { task: { ...TASK, status }, status }, ...more }));
  const listed = (task: object, ended: boolean) =>
    [...the.listRuns({ ...TASK, ...task } as never, () => {}), ...the.listReviews(TASK as never, ended)].map(
      ({ label }) => label,
    );

  it.each(TASK_STATUSES)('begin with another run if it is %s and has ended; Halt never stands there', (status) => {
    const ended = !['pending', 'running', 'waiting'].includes(status);
    expect(Object.keys(buttons(status)).filter((name) => name !== '')).toEqual(ended ? ['Run again'] : []);
    const run = { ...emptyRun, doing: [] };
    expect(Object.keys(readButtons(the.render(the.NowLine, { props: { task: TASK, run, status } })))).toEqual(
      ended ? [] : ['Halt …'],
    );
  });

  it('have further ones in a menu, with a dataset for a run that has ended and a fork for one that has a step', () => {
    const all = ['Run again with changes', 'Fork', 'Compare with', 'Score', 'Add to dataset'];
    expect(listed({}, true)).toEqual(all);
    expect(listed({}, false)).toEqual(all.filter((label) => label !== 'Add to dataset'));
    expect(listed({ steps: 0 }, true)).toEqual(all.filter((label) => label !== 'Fork'));
  });

  const me = { role: 'viewer', scopes: ['read'], service_key_id: null };
  it.each<[string, object, string | true]>([
    ['a viewer', me, 'Your role viewer does not have the scope run; ask an administrator for it'],
    ['a key without the scope', { ...me, service_key_id: 'k' }, 'Your service key does not have the scope run'],
    ['a key with the scope', { ...me, service_key_id: 'k', scopes: ['read', 'run'] }, true],
    ['an editor', { ...me, role: 'editor', scopes: ['read', 'run', 'write'] }, true],
  ])('are open to those who may act: %s', (_, reply, open) => {
    const shown = { replies: { get_me: reply }, signed_in: true };
    const now = { ...shown, props: { task: TASK, run: emptyRun, status: 'running' } };
    expect(readButtons(the.render(the.NowLine, now))).toMatchObject({ 'Halt …': open });
    expect(buttons('completed', shown)).toMatchObject({ 'Run again': open });
  });
});

describe('the head of a run', () => {
  const shown = (screen: ComponentType, task: object, status = 'completed', detail: object = {}) => {
    const props = { task: { ...TASK, ...task, status }, status, followed: { run: emptyRun, connection: 'ended', problem: null } };
    const replies = { get_task: { ...props.task, budget: null, forks: [], priced: true, waiting_seconds: 0, ...detail } };
    return the.render(screen, { replies, props });
  };
  const head = (task: object) => shown(the.RunHead, task);
  const facts = (task: object, status?: string, detail?: object) => shown(the.RunFacts, task, status, detail);
  const NOTES = { cut: 'it is incomplete', turns: 'The turn limit was reached', error: 'No such model (model_error)' };

  it.each<[string, object, string[]]>([
    ['nothing else', {}, []],
    ['that its answer was cut', { truncated: true }, ['cut']],
    ['that its tools were taken away', { turn_limit_reached: true }, ['turns']],
    ['why it failed', { error: 'No such model', error_code: 'model_error' }, ['error']],
  ])('says %s', (_, task, notes) => {
    const text = toText(head(task));
    const said = Object.entries(NOTES).flatMap(([name, words]) => (text.includes(words) ? [name] : []));
    expect(said).toEqual(notes);
  });

  it('counts the time of a run in progress to now, and that of one that has ended to its end', () => {
    const started_at = new Date(NOON - 67_000).toISOString();
    expect(readFacts(facts({ started_at, elapsed_seconds: 5 }, 'running'))).toMatchObject({ Duration: '1 min 7 s' });
    expect(readFacts(facts({ started_at, elapsed_seconds: 5 }, 'failed'))).toMatchObject({ Duration: '5.0 s' });
  });

  it('shows the newest forks, and counts the earlier ones', () => {
    const forks = [2, 3, 5, 7, 11, 13, 17].map((step) => ({ task_id: `f${step}`, step, status: 'completed' }));
    const { Forks } = readFacts(facts({}, 'completed', { forks }));
    expect(Forks).toBe([...[5, 7, 11, 13, 17].map((step) => `from step ${step} (completed)`), 'and 2 earlier'].join(' '));
  });

  it('never shows an unknown cost as none', () => {
    const cost = (spent: number | null, priced: boolean) =>
      toText(the.render(the.RunCost, { props: { usage: { cost: spent, priced, total_in: 7, total_out: 11 } } }));
    expect([cost(0, true), cost(null, false), cost(0, false), cost(61.27, false)]).toEqual([
      ...['$0', 'unknown', 'unknown', '$61.27, without models that have no price'],
    ]);
  });
});

describe('what a run waits for', () => {
  const call = (call_id: string, state: string, more: object = {}) => ({
    ...{ kind: 'call', call_id, name: `tool-${call_id}`, arguments: '{}', state, failed: false, restored: false, question: null },
    ...{ cause: null, files: [] },
    ...{ result: null, progress: null, stdout: null, stderr: null, duration_ms: null, ...more },
  });
  const shown = (
    calls: object[],
    { status = 'waiting', behind = null as string | null, replies = {}, logs = [] as object[] } = {},
  ) => the.render(the.Pauses, { props: { task: TASK, status, calls, behind, logs }, replies });
  const question = { id: 'q', message: 'Which?', asked_by: { server: 'mail', host: null }, schema: { properties: {} } };

  it('is each decision about its calls, and no call that waits for nobody', () => {
    const calls = [call('1', 'waiting_approval'), call('2', 'done'), call('3', 'waiting_reconciliation'), call('4', 'running')];
    const text = toText(shown(calls));
    expect(text).toContain('Approve the call to tool-1 ?');
    expect(text).toContain('The worker was lost while tool-3 ran. Did the call take effect?');
    expect(text).not.toMatch(/tool-[24]|budget/);
  });

  it.each<[string, object[], string | null, string[]]>([
    ['an approval', [call('1', 'waiting_approval')], null, ['Approve', 'Deny']],
    ['a decision', [call('1', 'waiting_reconciliation')], null, ['Mark as done', 'Retry the call', 'Mark as failed']],
    ['its client', [call('1', 'waiting_client')], null, ['Mark as done', 'Mark as failed']],
    ['an answer', [call('1', 'waiting_answer', { question })], null, ['Submit', 'Decline', 'Cancel']],
    ['a restore', [], 'step 3', ['Resume the run', 'Fail the run']],
  ])('has a button for each answer to %s', (_, calls, behind, buttons) => {
    const names = Object.keys(readButtons(shown(calls, { behind })));
    expect(names.filter((name) => !name.startsWith('Copy'))).toEqual(buttons);
  });

  it('states why the outcome of a call is unknown', () => {
    const lost = call('1', 'waiting_reconciliation', { cause: 'The connection to the MCP server mail broke' });
    expect(toText(shown([lost]))).toContain('The connection to the MCP server mail broke. Did the call of tool-1 take effect?');
  });

  it('says whether the worker or the installation was lost', () => {
    const restored = toText(shown([call('1', 'waiting_reconciliation', { restored: true })]));
    expect(restored).toContain('The installation was restored before tool-1 was called. Did the call take effect?');
    expect(toText(shown([], { behind: 'the answer of step 3' }))).toContain('The record of the run lacks the answer of step 3.');
  });

  it('is its budget if no call waits, and nothing if the run does not wait', () => {
    const budget = { max_cost_usd: 7, max_tokens: null, max_seconds: null, on_exhausted: 'wait' };
    const text = toText(shown([], { replies: { get_workflow: { budget } } }));
    expect(text).toContain('The budget is used up.');
    const logs = [
      { event: 'budget_exhausted', detail: 'No.' },
      { event: 'unpriced_model', detail: 'No price is known for large.' },
    ];
    const unpriced = toText(shown([], { logs, replies: { get_workflow: { budget } } }));
    expect(unpriced).toContain('No price is known for large. Set a price at the provider');
    const raised = toText(shown([], { logs: [logs[1]!, logs[0]!], replies: { get_workflow: { budget } } }));
    expect(raised).toContain('The budget is used up.');
    expect(toText(shown([], { replies: { get_workflow: { budget: null } } }))).toBe(
      'The run is waiting and resumes automatically.',
    );
    expect(shown([call('1', 'waiting_approval')], { status: 'running' })).not.toContain('tool-1');
  });

  it('is the budget above the run that is used up, with what it says and a link', () => {
    const detail = 'The budget Team of 5 US dollars is used up until 2026-02-01T00:00:00Z';
    const logs = [
      { event: 'unpriced_model', detail: 'No price is known for large.' },
      { event: 'budget_exhausted', detail, budget_id: 'b-7' },
    ];
    const html = shown([], { logs, replies: { get_workflow: { budget: null } } });
    expect(toText(html)).toContain(`The run waits for a budget ${detail}. The run continues automatically once it fits.`);
    expect(readLinks(html)).toEqual({ 'Open the budget': '/budgets/b-7' });
    expect(Object.keys(readButtons(html))).toEqual([]);
  });
});

describe('the line that says what a run does now', () => {
  const doing = (kind: string, name: string, seconds: number) => ({
    ...{ key: name, kind, step: 3, name, since: new Date(NOON - seconds * 1_000).toISOString() },
  });
  const line = (status: string, ...activities: object[]) =>
    toText(the.render(the.NowLine, { props: { task: TASK, run: { ...emptyRun, doing: activities }, status } })).replace(
      / ?Follow the end Halt …/,
      '',
    );

  it.each([
    ['model', 'large', 'Now: step 3, the model answers (large), 7.0 s'],
    ['tool', 'look', 'Now: step 3, the tool look runs, 7.0 s'],
    ['retry', '429', 'Now: step 3, it waits to try again: 429, 7.0 s'],
    ['wait', 'approval of pay', 'Now: step 3, it waits for approval of pay, 7.0 s'],
  ])('has words for a %s', (kind, name, words) => expect(line('running', doing(kind, name, 7))).toBe(words));

  it('shows the latest three, and how many more there are', () => {
    const calls = ['a', 'b', 'c', 'd', 'e'].map((name) => doing('tool', name, 7));
    const text = line('running', ...calls);
    expect(text).not.toMatch(/tool [ab] runs/);
    expect(text).toMatch(/tool c runs.*tool d runs.*tool e runs.*and 2 more calls$/);
  });

  it('has a status if nothing is known, and is absent at the end', () => {
    expect([line('pending'), line('running'), line('completed', doing('tool', 'a', 7))]).toEqual([
      ...['Now: it is queued', 'Now: it is running', ''],
    ]);
  });
});

describe('the conversation of a run', () => {
  const conversation = (run: object, { connection = 'ended', status = 'running' } = {}) =>
    the.render(the.Transcript, { props: { task: { ...TASK, status }, followed: { run: { ...emptyRun, ...run }, connection } } });

  it.each([
    ['pending', 'Queued.'],
    ['running', 'The model is thinking'],
    ['failed', 'failed before the model replied'],
    ['halted', 'was halted before the model replied'],
  ])('without a word is explained for a run that is %s', (status, words) => {
    expect(toText(conversation({ status }, { status: 'completed' }))).toContain(words);
    expect(toText(conversation({}, { status }))).toContain(words);
  });

  it('shows a call with its result, its outputs and how it ended', () => {
    const call = {
      ...{ kind: 'call', call_id: '1-1', name: 'look', arguments: '{"a":7}', state: 'done', failed: true, result: 'gone' },
      ...{
        restored: false,
        cause: null,
        files: [],
        question: null,
        progress: 'half',
        stdout: 'spoken',
        stderr: 'warned',
        duration_ms: 503,
      },
    };
    const text = toText(conversation({ blocks: [call] }));
    expect(text).toMatch(/failed look \{"a":7\} 503 ms .*Result .*gone.*Standard output .*spoken.*Standard error .*warned/);
    expect(text).not.toContain('half');
    expect(toText(conversation({ blocks: [{ ...call, state: 'running' }] }))).toContain('503 ms half');
    expect(toText(conversation({ blocks: [{ ...call, failed: false }] }))).toContain('done look');
  });

  it('keeps what a person wrote as it is, and formats what a model wrote', () => {
    const blocks = ['user', 'assistant'].map((role) => ({ kind: 'text', role, text: '*so*' }));
    const html = conversation({ blocks, partial: '*and*' });
    expect(html.match(/<em>(\w+)<\/em>/g)).toEqual(['<em>so</em>', '<em>and</em>']);
  });
});

describe('the page of a workflow', () => {
  const workflow = {
    ...{ id: 'w', title: 'Daily', status: 'running', agent_id: 'a', owner: 'alice', task_count: 1_009, last_task_at: at(7) },
    ...{ on_busy: 'reject', needs: [], warnings: [] },
  };
  const shown = (items: object[], more: object = {}) => ({
    replies: { get_workflow: { ...workflow, ...more }, list_tasks: page(items), list_agents: page([{ id: 'a', name: 'Clerk' }]) },
    ...{ at: '/workflows/w', path: '/workflows/:id' },
  });

  it('shows the run in progress, although others were queued after it, and counts these', () => {
    const tasks = ['pending', 'pending', 'waiting', 'completed'].map((status, index) => ({ ...TASK, id: `t${index}`, status }));
    const html = the.render(the.WorkflowPage, shown(tasks));
    expect(readLinks(html)).toMatchObject({
      ...{ 'Open run page': '/tasks/t2', 'Show queue': '/tasks?workflow_id=w&status=pending', Clerk: '/agents/a' },
    });
    expect(toText(html)).toContain('2 more prompts queued.');
    expect(toText(html)).toContain('Run in progress');
    expect(readFacts(html)).toMatchObject({ Owner: 'alice', Runs: '1,009' });
  });

  it('shows the newest run if none is in progress', () => {
    const tasks = ['failed', 'completed'].map((status, index) => ({ ...TASK, id: `t${index}`, status }));
    const html = the.render(the.WorkflowPage, shown(tasks, { status: 'failed' }));
    expect(readLinks(html)['Open run page']).toBe('/tasks/t0');
    expect(toText(html)).toContain('Last run');
  });

  const form = (more: object) => the.render(the.PromptForm, { props: { workflow: { ...workflow, ...more } } });
  it('takes a prompt in the direction of its text', () => {
    expect(form({})).toMatch(/<textarea[^>]* dir="auto"/);
  });

  it('asks what to do with a prompt only while a run is in progress, and names what happens otherwise', () => {
    const options = (html: string) => [...html.matchAll(/<option[^>]*>([^<]*)</g)].map(([, option]) => option);
    for (const status of ['running', 'waiting'])
      expect(options(form({ status })).slice(-5)).toEqual([
        'refuse the prompt',
        'queue the prompt',
        'refuse the prompt',
        'halt the run',
        'let the run read it',
      ]);
    for (const status of ['active', 'completed', 'failed', 'halted'])
      expect(options(form({ status }))).not.toContain('halt the run');
    expect(toText(form({ status: 'inactive' }))).toBe(
      'This workflow is inactive. To send prompts, set its status to active in the settings.',
    );
  });

  it('compares a version with the one before it, of those that are listed', () => {
    const version = (number: number) => ({
      ...{ id: `v${number}`, number, current: number === 7, origin: 'saved', created_by: 'a', created_at: at(5) },
      ...{ runs: 2, definition_hash: `h${number}`, last_evaluation: null },
    });
    const asked: object[] = [];
    const replies = {
      list_workflow_versions: page([version(7), version(5), version(3)]),
      get_workflow_scores: [] as never,
      get_workflow_version: (input: object) => void asked.push(input),
    };
    the.render(the.Versions, { replies, props: { workflow_id: 'w' } });
    the.render(the.Versions, { replies, props: { workflow_id: 'w' }, at: '/?version=5' });
    the.render(the.Versions, { replies, props: { workflow_id: 'w' }, at: '/?version=5&against=current' });
    the.render(the.Versions, { replies, props: { workflow_id: 'w' }, at: '/?version=3' });
    expect(asked).toEqual([
      { params: { id: 'w', number: 7 }, query: { against: '5' } },
      { params: { id: 'w', number: 5 }, query: { against: '3' } },
      { params: { id: 'w', number: 5 }, query: { against: 'current' } },
      { params: { id: 'w', number: 3 }, query: {} },
    ]);
  });
});

describe('the list of tasks', () => {
  const list = (address: string) => {
    const asked: object[] = [];
    const note = ({ query }: { query: object }) => {
      asked.push(query);
      return undefined;
    };
    the.render(the.Tasks, { replies: { list_tasks: note, list_task_errors: note }, at: address });
    return asked;
  };

  it('says what a task is before there is one', () => {
    const shown = (at: string) => toText(the.render(the.Tasks, { replies: { list_tasks: page([]) }, at }));
    expect(shown('/tasks')).toMatch(/No tasks yet A task is one prompt that a workflow runs\. .*For example: /);
    expect(shown('/tasks?status=failed')).toContain('No task matches these filters.');
  });

  it('asks for what its filters name, and counts errors without the order and the code', () => {
    expect(list('/tasks?status=failed&sort=cost&error_code=x&hours=24')).toEqual([
      { limit: 50, count_to: 1_000, status: 'failed', sort: 'cost', error_code: 'x', since: '2026-01-30T12:00:00.000Z' },
      { status: 'failed', since: '2026-01-30T12:00:00.000Z' },
    ]);
    expect(list('/tasks?group=error&status=failed&sort=cost')).toEqual([{ status: 'failed' }]);
  });
});

describe('a list of records', () => {
  const names = (kind: string) =>
    page([
      { id: `${kind}-7`, name: `${kind} seven`, title: `${kind} seven` },
      { id: `${kind}-11`, name: `${kind} eleven`, title: `${kind} eleven` },
    ]);
  const replies = {
    ...{ list_agents: names('agent'), list_workflows: names('workflow'), list_providers: names('provider') },
    ...{ list_knowledge_sources: names('source'), list_budgets: names('budget') },
  };
  const SHARED = {
    description: 'What it is',
    tags: ['b', 'a'],
    created_at: at(2),
    updated_at: at(7),
    status: 'error',
    last_error: 'No',
  };
  const DESCRIBED = { Description: 'What it is', Changed: '7 Mar' };
  const KEY = {
    hint: 'pk_a…z',
    owner_login: 'alice',
    role: 'viewer',
    scopes: ['read', 'run'],
    expires_at: at(11),
    last_used_at: at(5),
  };
  const SCHEDULE = {
    enabled: false,
    disabled_reason: 'It failed',
    workflow_id: 'workflow-11',
    interval_value: 3,
    interval_unit: 'days',
  };
  const AGENT = {
    model: null,
    provider_id: 'provider-7',
    custom_tool_ids: ['a', 'b'],
    builtin_tools: ['c'],
    mcp_server_ids: ['d', 'e'],
  };
  const ALERT = {
    state: 'firing',
    enabled: true,
    muted_until: null,
    measure: 'backlog',
    last_value: 3,
    threshold: 5,
    state_since: at(3),
  };

  const BUDGET = {
    ...{
      name: 'Day',
      scope: 'installation',
      subject_id: null,
      period: 'month',
      warn_at: [0.8],
      limit_usd: 53,
      limit_tokens: null,
    },
    ...{ spent: 11.5, reserved: 7.25, left: 34.25, used: 11.5 / 53, period_ends_at: at(11) },
  };
  const BUDGET_CELLS = {
    ...{ Limit: '$53.00 a month', Spent: '$11.50', Reserved: '$7.25', Left: '$34.25 (64.6 %)', 'Period ends': '11 Mar' },
  };

  /** A record of each kind, and the text of each column; of a time, the day. */
  const ROWS: [slug: string, record: object, cells: object][] = [
    [
      'workflows',
      { status: 'halted', agent_id: 'agent-11', task_count: 211, last_task_at: at(5) },
      { Status: 'halted', Agent: 'agent eleven', Runs: '211', 'Last run': '5 Mar', Changed: '7 Mar' },
    ],
    [
      'workflows',
      { status: 'active', agent_id: 'gone', task_count: 0, last_task_at: null },
      {
        ...{ Status: 'active', Agent: 'gone', Runs: '0', 'Last run': 'never', Changed: '7 Mar' },
      },
    ],
    [
      'scheduled-agents',
      { ...SCHEDULE, cron: null, next_run_at: at(11), last_run_at: at(5) },
      { State: 'paused', Workflow: 'workflow eleven', Repeats: 'every 3 days', 'Next run': '11 Mar', 'Last run': '5 Mar' },
    ],
    [
      'alerts',
      { ...ALERT, workflow_id: null },
      { State: 'firing', Measured: '3 pending', 'Fires at': '5 pending', Watches: 'all workflows', Since: '3 Mar' },
    ],
    [
      'alerts',
      { ...ALERT, last_value: null, workflow_id: 'workflow-7' },
      {
        ...{ State: 'firing', Measured: '—', 'Fires at': '5 pending', Watches: 'workflow seven', Since: '3 Mar' },
      },
    ],
    [
      'alerts',
      { ...ALERT, measure: 'budget', workflow_id: null, budget_id: 'budget-7' },
      { State: 'firing', Measured: '3 % spent', 'Fires at': '5 % spent', Watches: 'budget seven', Since: '3 Mar' },
    ],
    ['budgets', BUDGET, { ...BUDGET_CELLS, Limits: 'the installation' }],
    [
      'budgets',
      { ...BUDGET, scope: 'person', subject_id: 'github:4711', left: 0 },
      { ...BUDGET_CELLS, Limits: 'person github:4711', Left: '$0 (0 %)' },
    ],
    ['budgets', { ...BUDGET, scope: 'agent', subject_id: 'agent-7' }, { ...BUDGET_CELLS, Limits: 'agent agent seven' }],
    [
      'budgets',
      { ...BUDGET, scope: 'workflow', subject_id: 'workflow-7' },
      { ...BUDGET_CELLS, Limits: 'workflow workflow seven' },
    ],
    ['datasets', { item_count: 1_009 }, { ...DESCRIBED, Items: '1009' }],
    ['agents', AGENT, { ...DESCRIBED, Model: 'default', Provider: 'provider seven', Tools: '5' }],
    [
      'agents',
      { ...AGENT, model: 'large', provider_id: null },
      { ...DESCRIBED, Model: 'large', Provider: 'default runtime', Tools: '5' },
    ],
    ['skills', {}, { ...DESCRIBED, Tags: 'b, a' }],
    ['skills', { description: '' }, { Description: '—', Changed: '7 Mar', Tags: 'b, a' }],
    ['guardrails', { guardrail_type: 'pii', enabled: false }, { ...DESCRIBED, Type: 'pii', Enabled: 'off', Tags: 'b, a' }],
    ['guardrails', { guardrail_type: 'pii', enabled: true }, { ...DESCRIBED, Type: 'pii', Enabled: 'enabled', Tags: 'b, a' }],
    [
      'memories',
      { value: 'tea', scope: 'global', agent_id: 'agent-7' },
      { Value: 'tea', Scope: 'global', Agent: 'agent seven', Changed: '7 Mar' },
    ],
    [
      'custom-tools',
      { is_enabled: true, effect: 'write', is_plugin: true },
      { ...DESCRIBED, Enabled: 'enabled', Effect: 'write', Plugin: 'yes', Tags: 'b, a' },
    ],
    [
      'custom-tools',
      { is_enabled: false, effect: 'read', is_plugin: false, tags: [] },
      {
        ...{ ...DESCRIBED, Enabled: 'off', Effect: 'read', Plugin: 'no', Tags: '—' },
      },
    ],
    [
      'mcps',
      { transport_type: 'sse', is_enabled: false },
      { ...DESCRIBED, Status: 'error', Transport: 'sse', Enabled: 'off', Tags: 'b, a' },
    ],
    [
      'mcps',
      { transport_type: 'stdio', is_enabled: true, last_error: null, status: 'connected' },
      { ...DESCRIBED, Status: 'connected', Transport: 'stdio', Enabled: 'enabled', Tags: 'b, a' },
    ],
    ['knowledge-sources', { source_type: 'pgvector' }, { ...DESCRIBED, Status: 'error', Type: 'pgvector', Tags: 'b, a' }],
    [
      'knowledge-items',
      { source_id: 'source-11', content_type: 'text/plain', chunks: 53 },
      { Status: 'error', Source: 'source eleven', Type: 'text/plain', Passages: '53', Tags: 'b, a', Changed: '7 Mar' },
    ],
    [
      'providers',
      { provider_type: 'azure_openai', default_model: 'large', base_url: 'https://m.example' },
      { Type: 'azure openai', 'Default model': 'large', Address: 'https://m.example', Changed: '7 Mar' },
    ],
    [
      'providers',
      { provider_type: 'openai', default_model: null, base_url: null },
      { Type: 'openai', 'Default model': '—', Address: '—', Changed: '7 Mar' },
    ],
    [
      'tokens',
      { shared: true, used_by: ['agent a', 'workflow b'] },
      { ...DESCRIBED, Shared: 'yes', 'Used by': 'agent a, workflow b' },
    ],
    ['tokens', { shared: false, used_by: [] }, { ...DESCRIBED, Shared: 'no', 'Used by': 'nothing' }],
    [
      'keys',
      KEY,
      { Key: 'pk_a…z', Owner: 'alice', Role: 'viewer', Scopes: 'read, run', Expires: '11 Mar', 'Last used': '5 Mar' },
    ],
    [
      'keys',
      { ...KEY, expires_at: null, last_used_at: null },
      {
        ...{ Key: 'pk_a…z', Owner: 'alice', Role: 'viewer', Scopes: 'read, run', Expires: 'never', 'Last used': 'never' },
      },
    ],
  ];

  it.each(ROWS)('of %s shows in each column what its label says: %j', (slug, record, cells) => {
    const { columns } = the.CATALOG[slug]!;
    const pairs = columns.flatMap(({ label, show }): ReactNode[] => [
      createElement('dt', { key: `${label}?` }, label),
      createElement('dd', { key: label }, show({ id: 'r', ...SHARED, ...record }) as ReactNode),
    ]);
    const facts = readFacts(the.render(() => createElement('dl', null, pairs), { replies }));
    const days = Object.entries(facts).map(([label, text]) => [label, /^(\d+ Mar) 2019, /.exec(text as string)?.[1] ?? text]);
    expect(Object.fromEntries(days)).toEqual(cells);
  });

  it('of each kind is among these', () => {
    expect([...new Set(ROWS.map(([slug]) => slug))].sort()).toEqual(Object.keys(the.CATALOG).sort());
  });
});

describe('the page System', () => {
  it('shows the other parts if one cannot be read', () => {
    const get_system = {
      ...{ version: '1.2.3', at: at(5), checks: [], storage: [] },
      ...{ workers: { items: [], error: null }, queues: { items: null, error: 'The engine is down.' } },
      ...{ runs: { items: [{ status: 'running', runs: 17, oldest_seconds: 61 }], error: null } },
      failures: { items: [], error: null },
    };
    const text = toText(the.render(the.System, { replies: { get_system } }));
    expect(text).toMatch(/Workers No worker reports.* Queues cannot be read The engine is down\. Open runs Status Runs/);
    expect(text.split('cannot be read')).toHaveLength(2 + 1);
  });
});

describe('a budget of a period', () => {
  const KEY_REFUSAL = 'A service key may read budgets, but not change them.';
  const REFUSAL = 'An administrator has made this budget. Only administrators may change it.';
  it.each<[string, object | undefined, string | null]>([
    ['nobody is known yet', undefined, null],
    ['its maker', { id: 'alice', is_admin: false, service_key_id: null }, null],
    ['another person', { id: 'bob', is_admin: false, service_key_id: null }, REFUSAL],
    ['an administrator', { id: 'bob', is_admin: true, service_key_id: null }, null],
    ['a service key of its maker', { id: 'alice', is_admin: false, service_key_id: 'k' }, KEY_REFUSAL],
  ])('can be changed or not: %s', (_, caller, refusal) => {
    const { readonly } = the.CATALOG.budgets as unknown as { readonly(record: object, caller?: object): string | null };
    expect(readonly({ created_by: 'alice' }, caller)).toBe(refusal);
  });
});

describe('the page of an evaluation', () => {
  const evaluation = {
    ...{ id: 'e', dataset_id: 'd', workflow_id: 'w', workflow_title: 'Daily', definition_hash: 'abcdef0123', model: null },
    ...{ items: 23, passed: 7, failed: 3, errors: 2, pass_rate: null, parallel: 5, status: 'running', effects: 'stub' },
    ...{ baseline_id: 'b', regressions: [], graders: [{ type: 'exact' }], created_at: at(5), completed_at: null },
  };
  const shown = (more: object = {}, number = 3) =>
    the.render(the.EvaluationPage, {
      replies: {
        get_evaluation: { ...evaluation, ...more },
        get_dataset: { id: 'd', name: 'Set' },
        list_workflow_versions: page([
          { number, definition_hash: 'abcdef0123' },
          { number: 11, definition_hash: 'other' },
        ]),
        list_evaluation_results: page([]),
      },
      ...{ at: '/datasets/d/runs/e', path: '/datasets/:id/runs/:run_id' },
    });

  it('counts what is done while it runs, and can be halted until then', () => {
    const html = shown();
    expect(toText(html)).toContain('12 of 23 items done');
    expect(Object.keys(readButtons(html))).toContain('Halt');
    expect(readFacts(html)).toMatchObject({
      'Pass rate': '—',
      Version: 'Version 3',
      Model: 'default',
      Baseline: 'an earlier evaluation',
    });
    expect(readLinks(html)).toMatchObject({ 'Version 3': '/workflows/w?tab=versions&version=3' });
    const ended = shown({ status: 'completed', pass_rate: 0.5, completed_at: at(7) });
    expect(Object.keys(readButtons(ended))).not.toContain('Halt');
  });

  it('names regressions once there is something to compare', () => {
    const NONE = 'Every item that passed in the baseline passes now.';
    expect(toText(shown())).not.toContain(NONE);
    expect(toText(shown({ status: 'completed' }))).toContain(NONE);
    expect(toText(shown({ status: 'completed', baseline_id: null }))).not.toContain('Regressions');
    const regression = { item_id: 'i', prompt: 'Which city?', status: 'error', task_id: 't7', baseline_task_id: 't3' };
    const html = shown({ regressions: [regression] });
    expect(toText(html)).toContain('Which city? error now before compare');
    expect(readLinks(html)).toMatchObject({ now: '/tasks/t7', before: '/tasks/t3', compare: '/runs/compare?ids=t3,t7' });
  });
});

describe('the page of a record', () => {
  it('of a service key has each of its times, and what it may do', () => {
    const record = {
      ...{ id: 'k', hint: 'pk_abc…wxyz', owner_login: 'alice', role: 'viewer', scopes: ['read', 'run'] },
      ...{ expires_at: at(3), last_used_at: at(5), rotated_at: at(7), previous_valid_until: at(11) },
    };
    const facts = readFacts(the.render(the.KeyPanel, { props: { record } }));
    expect(facts).toMatchObject({ Key: 'pk_abc…wxyz', Owner: 'alice', Role: 'viewer', Scopes: 'read, run' });
    const days = ['Expires', 'Last used', 'Rotated', 'Previous key ends'].map((name) => Number.parseInt(facts[name]!, 10));
    expect(days).toEqual([3, 5, 7, 11]);
    const never = { ...record, expires_at: null, last_used_at: null, rotated_at: null, previous_valid_until: null };
    expect(readFacts(the.render(the.KeyPanel, { props: { record: never } }))).toMatchObject({
      ...{ Expires: 'never', 'Last used': 'never', Rotated: 'never', 'Previous key ends': 'ended' },
    });
  });

  const schedule = {
    ...{ id: 's', workflow_id: 'w', enabled: true, disabled_reason: null, interval_value: 7, interval_unit: 'days', cron: null },
    ...{ time_zone: 'Asia/Tokyo', next_run_at: at(13), last_run_at: at(11) },
  };
  const fires = page([
    { due_at: at(5), outcome: 'started', task_id: 't5', task_status: 'halted', detail: null },
    { due_at: at(4), outcome: 'backfilled', task_id: 't4', task_status: null, detail: null },
    { due_at: at(3), outcome: 'skipped', task_id: null, task_status: null, detail: 'A run is in progress' },
  ]);
  const scheduled = (more: object) =>
    the.render(the.ScheduleActions, { props: { record: { ...schedule, ...more } }, replies: { list_schedule_runs: fires } });

  it.each<[object, object, string]>([
    [{}, { State: 'enabled', Repeats: 'every 7 days' }, 'Switch off'],
    [{ enabled: false }, { State: 'off' }, 'Switch on'],
    [{ enabled: false, disabled_reason: 'The last run failed' }, { State: 'paused' }, 'Switch on'],
    [{ interval_value: 1, interval_unit: 'hours' }, { Repeats: 'every hour' }, 'Switch off'],
    [{ interval_value: null, interval_unit: null, cron: '7 3 * * *' }, { Repeats: '7 3 * * * (Asia/Tokyo)' }, 'Switch off'],
    [{ next_run_at: null, last_run_at: null }, { 'Next run': 'none', 'Last run': 'never' }, 'Switch off'],
  ])('of a schedule says what it does: %j', (more, facts, button) => {
    const html = scheduled(more);
    expect(readFacts(html)).toMatchObject(facts);
    expect(Object.keys(readButtons(html))).toEqual(expect.arrayContaining(['Run now', button, 'Back-fill …']));
  });

  it('of a schedule has the time of its next run and of its last one, and the outcome of each due time', () => {
    const html = scheduled({});
    const facts = readFacts(html);
    expect(['Next run', 'Last run'].map((name) => Number.parseInt(facts[name]!, 10))).toEqual([13, 11]);
    expect(toText(html)).toMatch(
      /5 Mar 2019\D.*? started halted 4 Mar 2019\D.*? backfilled run 3 Mar 2019\D.*? skipped — A run is in progress/,
    );
    expect(readLinks(html)).toMatchObject({ halted: '/tasks/t5', run: '/tasks/t4' });
  });

  it('of an alert says whether it fires and is muted', () => {
    const status = (alert: object) =>
      toText(the.render(the.AlertStatus, { props: { alert: { enabled: true, muted_until: null, ...alert } } }));
    const [before, later] = [new Date(NOON - 1_000).toISOString(), new Date(NOON + 1_000).toISOString()];
    expect([
      status({ state: 'ok' }),
      status({ state: 'firing' }),
      status({ state: 'firing', muted_until: later }),
      status({ state: 'firing', muted_until: before }),
      status({ state: 'ok', muted_until: later }),
      status({ state: 'firing', enabled: false }),
    ]).toEqual(['ok', 'firing', 'firing, muted', 'firing', 'ok, muted', 'off']);
  });

  it('of an alert offers to unmute it only while it is muted', () => {
    const panel = (muted_until: string | null) => {
      const record = {
        id: 'a',
        measure: 'spend',
        last_value: 7,
        state: 'ok',
        state_since: at(3),
        enabled: true,
        measured_at: at(5),
      };
      return the.render(the.AlertPanel, { props: { record: { ...record, muted_until } } });
    };
    const muted = panel(new Date(NOON + 1_000).toISOString());
    expect(Object.keys(readButtons(muted))).toContain('Unmute');
    const over = panel(new Date(NOON - 1_000).toISOString());
    expect(Object.keys(readButtons(over))).not.toContain('Unmute');
    const facts = readFacts(over);
    expect(facts['Muted until']).toBe('not muted');
    expect(['Since', 'At'].map((name) => Number.parseInt(facts[name]!, 10))).toEqual([3, 5]);
  });

  it('of a stored token lets its grants be given and revoked, and says which uses were refused', () => {
    const grant = {
      resource_type: 'mcp_server',
      destination: 'abcdefgh-more',
      destination_label: 'mail.example',
      granted_at: at(3),
    };
    const use = {
      used_by: 'bob',
      resource_kind: 'provider',
      resource_name: 'near',
      destination_label: 'm.example',
      used_at: at(5),
    };
    const replies = {
      list_token_grants: [
        { ...grant, id: 'g1', status: 'granted', resource_id: 'r1', resource_name: 'mail' },
        { ...grant, id: 'g2', status: 'outdated', resource_id: 'r2', resource_name: 'old' },
        { ...grant, id: null, status: 'asked', resource_id: 'r3', resource_name: 'new' },
      ],
      list_token_uses: page([
        { ...use, id: 'u1', granted: true },
        { ...use, id: 'u2', granted: false, used_by: 'carol' },
      ]),
    };
    const record = { id: 'k', fingerprint: 'abc', used_by: ['agent a', 'workflow w'], updated_at: at(7) };
    const html = the.render(the.TokenPanel, { props: { record }, replies });
    expect(readFacts(html)).toMatchObject({ 'Used by': 'agent a, workflow w' });
    expect([...html.matchAll(/aria-label="((?:Grant|Revoke) [^"]*)"/g)].map(([, label]) => label)).toEqual([
      ...['Revoke from the mcp server mail', 'Revoke from the mcp server old', 'Grant to the mcp server new'],
    ]);
    expect(toText(html)).toMatch(/opened 5 Mar.*? for bob: provider near \(m\.example.*refused 5 Mar.*? for carol/);
  });

  it('of an agent leads to what is its own', () => {
    const record = {
      ...{ id: 'a7', approval_tools: [], approve_effects: [], builtin_tools: ['bash'], custom_tool_ids: [] },
      ...{ mcp_server_ids: [], required_mcp_servers: [], mcp_server_tags: [], tool_definitions: [] },
    };
    const html = the.render(the.AgentPanel, { props: { record } });
    expect(readLinks(html)).toEqual({
      ...{ 'New workflow with this agent': '/workflows/new?agent_id=a7', Chat: '/chat?agent_id=a7' },
      ...{ Memories: '/memories?agent_id=a7', Runs: '/tasks?agent_id=a7' },
    });
    expect(toText(html)).toContain('No tool asks before it is called.');
  });

  it('of an agent names each tool that asks: by name, by its effect, and if its effect is unknown', () => {
    const record = {
      ...{ id: 'a', approval_tools: ['gone'], approve_effects: ['write'], custom_tool_ids: ['c1', 'c2', 'c3'] },
      ...{ builtin_tools: ['bash', 'later'], mcp_server_ids: [], required_mcp_servers: [], mcp_server_tags: [] },
      tool_definitions: [],
    };
    const custom = [
      { id: 'c1', name: 'pay', effect: 'write' },
      { id: 'c2', name: 'look', effect: 'read' },
      { id: 'c3', name: 'set', effect: 'idempotent' },
      { id: 'c4', name: 'of-others', effect: 'write' },
    ];
    const replies = {
      list_builtin_tools: [{ name: 'bash', effect: 'write' }] as never,
      list_custom_tools: page(custom),
      list_mcp_servers: page([]),
    };
    const text = toText(the.render(the.AgentPanel, { props: { record }, replies }));
    expect(text).toContain('Asks before it calls: gone bash later pay and every other tool with the effect write');
  });

  it('of a source leads to its items only if it has some', () => {
    const links = (source_type: string) =>
      readLinks(the.render(the.SourcePanel, { props: { record: { id: 's7', source_type, last_error: null } } }));
    expect(links('builtin')).toEqual({
      'New item': '/knowledge-items/new?source_id=s7',
      'Show items': '/knowledge-items?source_id=s7',
    });
    expect(links('pgvector')).toEqual({});
  });

  it('of a run has each attempt to deliver its message, with its outcome', () => {
    const attempt = (number: number, more: object) => ({
      ...{ attempt: number, response_status: null, error: null, attempted_at: at(number) },
      ...more,
    });
    const attempts = [attempt(3, { response_status: 503, error: 'HTTP 503' }), attempt(5, { error: 'refused' }), attempt(7, {})];
    const delivery = { id: 'd', status: 'failed', url: 'https://hook.example', payload: { a: 1 }, attempts };
    const text = toText(
      the.render(the.Deliveries, { props: { task_id: 't' }, replies: { list_task_webhooks: page([delivery]) } }),
    );
    expect(text).toContain('failed https://hook.example 3 attempts');
    expect(text).toMatch(/Attempt 3: 503, 3 Mar.*Attempt 5: refused, 5 Mar.*Attempt 7: no response, 7 Mar/);
    const none = the.render(the.Deliveries, { props: { task_id: 't' }, replies: { list_task_webhooks: page([]) } });
    expect(toText(none)).toContain('No deliveries.');
    const intervalOf = (...statuses: string[]) => the.findInterval(page(statuses.map((status) => ({ status }))) as never);
    expect([the.findInterval(undefined), intervalOf('failed'), intervalOf('failed', 'pending')]).toEqual([false, false, 5_000]);
  });
});
