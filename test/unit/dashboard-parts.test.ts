import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ZodObject, ZodType } from 'zod';
import { ApiProblem } from '../../src/dashboard/api/call.ts';
import { emptyRun } from '../../src/dashboard/runs/run-state.ts';
import { formatLocalTime } from '../../src/dashboard/ui/local-time.ts';
import {
  closeScreens,
  openScreens,
  type Replies,
  readButtons,
  readFacts,
  readLinks,
  SHOWN_TASK,
  toText,
} from '../support/browser/rendered.ts';

const NOON = Date.UTC(2026, 0, 31, 12);
const at = (day: number) => new Date(Date.UTC(2019, 2, day, 12, 11, 13)).toISOString();
const ID = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be007';
const page = (items: object[]) => ({ items, total: items.length, next: null });

let the: Awaited<ReturnType<typeof openScreens>>;
beforeAll(async () => {
  the = await openScreens(NOON);
}, 60_000);
afterAll(closeScreens);

describe('a request that failed', () => {
  it.each([
    [0, 'Request failed', 'Gone. Check the terminal where Perdura runs.'],
    [403, 'Request failed', 'Gone. It belongs to someone else. To see it, sign in with another access token.'],
    [404, 'Not found', 'Gone. It may have been deleted. Go back to the list.'],
    [409, 'Request failed', 'Gone.'],
    [429, 'Request failed', 'Gone. Wait a moment and try again.'],
  ])('with status %i has its reason and what to do', (status, title, text) => {
    const problem = new ApiProblem({ status, code: 'x', detail: 'Gone' });
    expect(toText(the.render(the.Failure, { props: { problem } }))).toBe(`${title} ${text}`);
    expect(Object.keys(readButtons(the.render(the.Failure, { props: { problem, retry() {} } })))).toEqual(['Try again']);
  });
});

describe('the runs that wait for a person', () => {
  const item = (more: object) => ({
    ...{
      id: 't1/1-1',
      kind: 'approval',
      task_id: 't1',
      call_id: '1-1',
      tool: 'pay',
      arguments: '{"to":"ann"}',
      arguments_cut: false,
    },
    ...{ question: null, workflow_title: 'Daily', agent_name: 'Clerk', prompt: 'Pay Ann', waiting_since: at(5), ...more },
  });

  it('are listed with what they wait for, since when, and the buttons that decide it', () => {
    const asked: object[] = [];
    const budget = { id: 't2', kind: 'budget', task_id: 't2', call_id: null, tool: null, arguments: null, workflow_title: null };
    const replies = {
      list_inbox: ({ query }: { query: object }) => {
        asked.push(query);
        return { ...page([item({}), item({ ...budget, agent_name: 'Guard', prompt: '' })]), total: 17 };
      },
    };
    const html = the.render(the.Waiting, { replies });
    expect(asked).toEqual([{ limit: 10, cursor: undefined }]);
    expect(readLinks(html)).toEqual({ 'All 17': '/inbox', Daily: '/tasks/t1', Guard: '/tasks/t2', 'Open the run': '/tasks/t2' });
    expect(toText(html)).toMatch(/Approve the call to pay\? .*"to": "ann".* Daily Pay Ann .* Approve Deny/);
    expect(toText(html)).toMatch(/A budget is used up, .* Guard \(empty\) /);
    const none = toText(the.render(the.Waiting, { replies: { list_inbox: page([]) } }));
    expect(none).toContain('No run is waiting for you.');
    expect(none).not.toContain('All');
  });

  it('are approved in their row only if all arguments are shown there', () => {
    const cut = item({ arguments_cut: true });
    const html = the.render(the.Waiting, { replies: { list_inbox: page([cut]) } });
    expect(toText(html)).toContain('Only the beginning is shown: open the run to read all of it.');
    expect(readLinks(html)).toMatchObject({ 'Open the run': '/tasks/t1' });
    expect(Object.keys(readButtons(html))).not.toContain('Approve');
  });

  it('have a form for the question of a tool', () => {
    const asks = item({ kind: 'question', question: { message: 'Which month?' } });
    const html = the.render(the.Waiting, { replies: { list_inbox: page([asks]) } });
    expect(toText(html)).toContain('pay asks: Which month?');
    expect(Object.keys(readButtons(html))).toContain('Answer …');
  });

  it('are filtered on their own page, and approved together', () => {
    const replies = { list_inbox: page([item({})]), list_workflows: page([]), list_agents: page([]) };
    const text = toText(the.render(the.InboxPage, { replies }));
    expect(text).toMatch(
      /Waits for any approval question result of the client reconciliation budget after a restore Workflow any Agent any Tool/,
    );
    expect(text).toMatch(/Select all shown Approve …/);
    expect(toText(the.render(the.InboxPage, { replies: { ...replies, list_inbox: page([]) } }))).toContain(
      'No run is waiting for you.',
    );
    const filtered = the.render(the.InboxPage, { replies: { ...replies, list_inbox: page([]) }, at: '/inbox?kind=budget' });
    expect(toText(filtered)).toContain('Nothing that waits for you matches these filters.');
  });
});

describe('stored tokens that a record needs', () => {
  it.each<[string[], string, string]>([
    [[], '', ''],
    [['a'], 'needs a token: a', 'This agent needs a token You have no access to a stored token named a . Until'],
    [
      ['a', 'b&c', 'd'],
      'needs tokens: a, b&amp;c, d',
      'needs tokens You have no access to a stored token named a , b&amp;c or d . ',
    ],
  ])('are named: %j', (needs, mark, alert) => {
    expect(toText(the.render(the.NeedsMark, { props: { needs } }))).toBe(mark);
    const html = the.render(the.NeedsAlert, { props: { noun: 'agent', needs } });
    expect(toText(html)).toContain(alert);
    expect(Object.values(readLinks(html))).toEqual(needs.map((name) => `/tokens/new?name=${encodeURIComponent(name)}`));
  });
});

describe('the page of an MCP server', () => {
  const SIGNED = { signed_in_at: at(3), expires_at: at(7), renews: false };
  const shown = (more: object) => {
    const record = { id: 'm', transport_type: 'http', last_error: null, sign_in: null, ...more };
    return the.render(the.McpPanel, { props: { record } });
  };

  it.each<[object, string, string[]]>([
    [{ sign_in: null }, 'For servers that take only people who signed in.', ['Sign in']],
    [{ sign_in: { ...SIGNED, expires_at: null } }, 'You signed in on 3 Mar 2019, 12:11 UTC .', ['Sign in again', 'Disconnect']],
    [{ sign_in: SIGNED }, 'on 3 Mar 2019, 12:11 UTC , until 7 Mar 2019', ['Sign in again', 'Disconnect']],
    [{ sign_in: { ...SIGNED, renews: true } }, '; the next renewal is due by 7 Mar', ['Sign in again', 'Disconnect']],
    [{ transport_type: 'stdio', last_error: 'It ended with 7' }, 'It ended with 7', []],
  ])('has the sign-in of the viewer: %j', (more, text, buttons) => {
    const html = shown(more);
    expect(toText(html)).toContain(text);
    const names = Object.keys(readButtons(html));
    expect(names.filter((name) => /Sign in|Disconnect/.test(name))).toEqual(buttons);
  });
});

describe('the form of a question', () => {
  const properties = {
    name: { type: 'string', title: 'Your name', description: 'As on the card', default: 'Ada' },
    mail: { type: 'string', format: 'email' },
    link: { type: 'string', format: 'uri' },
    day: { type: 'string', format: 'date', default: '2019-03-07' },
    many: { type: 'integer', default: 7 },
    sure: { type: 'boolean', default: true },
    one: { type: 'string', enum: ['a', 'b'], default: 'b' },
    some: { type: 'array', items: { type: 'string', enum: ['c', 'd'] }, default: ['d'] },
    none: { type: 'array', items: { type: 'string', enum: ['e'] } },
    at: { type: 'string', format: 'date-time', default: '2019-03-07T11:13:17.000Z' },
    later: { type: 'string', format: 'date-time' },
  };
  const question = {
    ...{ id: 'q', message: 'Who are you?', expires_at: new Date(NOON + 60_000).toISOString() },
    schema: { type: 'object', properties, required: ['name'] },
  };
  const shown = (asked_by: object) =>
    the.render(the.QuestionForm, {
      props: { task_id: 't', call_id: '1-1', name: 'book', question: { ...question, asked_by } },
    });

  it('names who asks', () => {
    const text = toText(shown({ server: 'mail', host: 'mcp.example' }));
    expect(text).toContain('book asks Asked by the MCP server mail at mcp.example Who are you?');
    expect(toText(shown({ server: 'mail', host: null }))).toContain('mail at a command on a worker');
  });

  it('has a control of its kind for each value, with the default', () => {
    const html = shown({ server: 'mail', host: null });
    const inputs = [...html.matchAll(/<input((?![^>]*type="hidden")[^>]*)>/g)].map(([, attributes = '']) =>
      ['type', 'value'].map((name) => new RegExp(`\\s${name}="([^"]*)"`).exec(attributes)?.[1] ?? '').join(' '),
    );
    expect(inputs).toEqual([
      ...['text Ada', 'email ', 'url ', 'date 2019-03-07', 'number 7', 'checkbox '],
      ...[
        'checkbox c',
        'checkbox d',
        'checkbox e',
        `datetime-local ${formatLocalTime(properties.at.default)}`,
        'datetime-local ',
      ],
    ]);
    const ticked = [...html.matchAll(/<input([^>]*type="checkbox"[^>]*)>/g)].map(([, attributes]) =>
      /\schecked=/.test(attributes!),
    );
    expect(ticked).toEqual([true, false, true, false]);
    expect(html).toMatch(/<option[^>]*value="b"[^>]*selected=""/);
    expect(toText(html)).toMatch(/Your name \*.*As on the card/);
  });
});

describe('the context window of a model', () => {
  const MODELS = [
    {
      id: 'small',
      context_window: 4_096,
      context_window_from: 'endpoint',
      priced: true,
      ends_on: '2031-05-01',
      successor: 'm-8',
    },
    { id: 'set', context_window: 7_001, context_window_from: 'provider', priced: true, ends_on: '2031-06-01', successor: null },
    { id: 'known', context_window: 128_000, context_window_from: 'known', priced: true, ends_on: null },
    { id: 'odd', priced: false, ends_on: null },
  ];
  const SENTENCES = [
    'small: context window of 4,096 tokens, as the endpoint says; ends on 2031-05-01, its vendor recommends m-8',
    'set: context window of 7,001 tokens, as set for the provider; ends on 2031-06-01',
    'known: context window of 128,000 tokens, from the table of known models',
    'odd: context window not known, so DEFAULT_CONTEXT_WINDOW counts; no price known',
  ];

  it('is listed with what it is known from', () => {
    const many = Array.from({ length: 40 }, (_, at) => ({ id: `more-${at}` }));
    const text = toText(the.render(the.ModelWindows, { props: { models: [...MODELS, ...many] } }));
    for (const sentence of SENTENCES) expect(text).toContain(sentence);
    expect(text).toContain('and 4 more');
  });

  it('is listed below the test of a provider once the list has loaded; until then, only the names are', () => {
    const shown = (reply?: object) => {
      const replies = { list_models: reply };
      return the.render(the.ProviderModels, { props: { provider_id: 'p', names: ['set', 'odd'] }, replies });
    };
    expect(toText(shown())).toBe('set odd');
    expect(toText(shown(MODELS))).toBe(SENTENCES.join(' '));
    const failed = shown(new ApiProblem({ status: 502, code: 'x', detail: 'Gone' }));
    expect(toText(failed)).toBe('set odd Request failed Gone. Try again');
  });

  it.each(MODELS.map(({ id }, at) => [id, SENTENCES[at]!]))('is shown where the model is chosen: %s', (model, sentence) => {
    const field = { name: 'model', label: 'Model', control: 'model', description: 'Of the agent' };
    const props = { field, path: 'model', values: { model, provider_id: 'p' }, faults: [], onChange() {} };
    const html = the.render(the.FieldControl, { props, replies: { list_models: MODELS } });
    expect(toText(html)).toContain(sentence);
  });

  const ending = {
    id: 'm-ending',
    context_window: 5_003,
    context_window_from: 'known',
    window_source: 'catalogue',
    priced: true,
    ends_on: '2031-02-03',
    successor: null,
  };
  const unpriced = { id: 'm-unpriced', priced: false, ends_on: null, successor: null };
  const provider = { name: 'Vendor', provider_type: 'openai', default_model: 'm-unpriced', azure_deployment: null };
  const azure = { name: 'Cloud', provider_type: 'azure_openai', default_model: null, azure_deployment: 'm-ending' };
  const clerk = { name: 'Clerk', provider_id: 'p', model: 'm-ending' };
  const known = { list_models: [ending, unpriced], get_provider: provider };
  const ENDING = 'context window of 5,003 tokens, from the table of known models; ends on 2031-02-03.';
  const UNPRICED = 'context window not known, so DEFAULT_CONTEXT_WINDOW counts; no price known.';
  it.each<[string, object, Replies, string]>([
    [
      'the agent’s own',
      { agent_id: 'a' },
      { ...known, get_agent: clerk },
      `If empty, the agent Clerk decides. m-ending: ${ENDING}`,
    ],
    [
      'that of the agent’s provider',
      { agent_id: 'a' },
      { ...known, get_agent: { ...clerk, model: null } },
      `If empty, the provider Vendor decides. m-unpriced: ${UNPRICED}`,
    ],
    ['that of the provider', { provider_id: 'p' }, known, `If empty, the provider Vendor decides. m-unpriced: ${UNPRICED}`],
    [
      'the deployment of Azure',
      { provider_id: 'p' },
      { ...known, get_provider: azure },
      `If empty, the provider Cloud decides. m-ending: ${ENDING}`,
    ],
    [
      'not known of a provider without a default',
      { provider_id: 'p' },
      { ...known, get_provider: { ...provider, default_model: null, azure_deployment: 'm-ending' } },
      'Of the agent',
    ],
    [
      'one that the endpoint does not list',
      { provider_id: 'p' },
      { ...known, list_models: [ending] },
      'If empty, the provider Vendor decides. m-unpriced.',
    ],
    ['that of the default runtime', {}, known, 'Of the agent'],
    ['its own name, which is not listed', { provider_id: 'p', model: 'm-typed' }, known, 'Of the agent'],
  ])('is shown below a field without a listed name, as that of the run: %s', (_, values, replies, sentence) => {
    const field = { name: 'model', label: 'Model', control: 'model', description: 'Of the agent' };
    const props = { field, path: 'model', values, faults: [], onChange() {} };
    expect(toText(the.render(the.FieldControl, { props, replies }))).toBe(`Model ${sentence}`);
  });
});

describe('the request of a step', () => {
  const message = (step: number, position: number, more: object) => ({
    ...{ step, position, role: 'user', kind: 'prompt', content: `${step}/${position}`, tool_calls: null, call_id: null, ...more },
  });
  const request = (step: number, messages: object[], more: object = {}) => ({
    ...{ step, model: 'large', instructions: 'Be.', skills: [], parameters: {}, not_rebuilt: [], tools: [], messages, ...more },
  });
  const tool = (name: string) => ({ name, description: `To ${name}`, parameters: {} });
  const replies = {
    get_task_step_request: ({ params: { step } }: { params: { step: string } }) =>
      step === '3'
        ? request(3, [message(2, 0, {}), message(3, 0, { kind: 'summary' })], { tools: [tool('see')], not_rebuilt: ['So so.'] })
        : request(2, [message(1, 0, {}), message(2, 0, {})], { tools: [tool('look')], model: 'small' }),
  };

  it('says what is new since the step before', () => {
    const html = the.render(the.RequestView, { props: { task_id: 't', step: 3 }, replies });
    expect(readFacts(html)).toMatchObject({ Model: 'large', Messages: '2', Tools: '1', Skills: '0' });
    const text = toText(html);
    expect(text).toContain('Since step 2: 1 new message, 1 removed, tools + see, − look, another model.');
    expect(text).toContain('This may differ from what was sent So so.');
    expect(text).toContain('user, summary of older messages, step 3 new');
    expect(readLinks(html)['Open in playground']).toBe('/tasks/t/playground?step=3');
  });

  it('has nothing before the first step', () => {
    const first = { get_task_step_request: request(1, [message(0, 0, {})], { model: null }) };
    const html = the.render(the.RequestView, { props: { task_id: 't', step: 1 }, replies: first });
    expect(readFacts(html).Model).toBe('default');
    const text = toText(html);
    expect(text).not.toMatch(/Since step|new/);
    expect(text).toContain('No tools were offered.');
  });
});

it('who may not write has no link to a form', () => {
  const links = (scopes: string[]) => {
    const replies = { get_me: { role: 'viewer', scopes, service_key_id: null }, list_agents: page([]) };
    return Object.keys(readLinks(the.render(the.ListPage, { replies, at: '/agents', path: '/:resource', signed_in: true })));
  };
  expect(links(['read'])).toEqual([]);
  expect(links(['read', 'write'])).toContain('New agent');
});

describe('the results of an evaluation', () => {
  const result = (item_id: string, status: string, more: object = {}) => ({
    ...{ item_id, status, prompt: `Prompt ${item_id}`, expected: 'seven', answer: 'eleven', error: null, task_id: `t${item_id}` },
    ...{ grades: [], ...more },
  });

  it('have the first reason, the answers, the grades and the runs', () => {
    const grades = [
      { grader: 'exact', passed: true, reason: 'fine', task_id: null },
      { grader: 'model_judge', passed: false, reason: 'Too short', score: 0.3, task_id: 'j7' },
    ];
    const asked: object[] = [];
    const replies = {
      list_evaluation_results: ({ query }: { query: object }) => {
        asked.push(query);
        return page([
          result('1', 'failed', { grades }),
          result('2', 'error', { error: 'No answer', grades }),
          result('3', 'pending'),
        ]);
      },
    };
    const evaluation = { id: 'e', dataset_id: 'd', status: 'completed' };
    const html = the.render(the.Results, { props: { evaluation }, replies, at: '/?status=failed' });
    expect(asked).toEqual([expect.objectContaining({ status: 'failed' })]);
    const [one, two, three] = html.split('<details').slice(1);
    expect(toText(`<p${one}`)).toMatch(
      /^failed Prompt 1 Too short .*exact fine .*model judge Score 0\.3 Too short Open the judge's run/,
    );
    expect(toText(`<p${two}`)).toMatch(/^error Prompt 2 No answer/);
    expect(toText(`<p${one}`)).toContain('From the expected answer to the given one');
    expect(toText(`<p${two}`)).not.toContain('From the expected answer');
    expect(readLinks(one!)).toEqual({ 'Open the run': '/tasks/t1', "Open the judge's run": '/tasks/j7' });
    expect(Object.keys(readLinks(three!))).toEqual([]);
    const unanswered = { list_evaluation_results: page([result('5', 'failed', { expected: { city: 'Rome' }, answer: null })]) };
    expect(toText(the.render(the.Results, { props: { evaluation }, replies: unanswered }))).toContain(
      'From the expected answer to the given one − { − "city": "Rome" − }',
    );
  });
});

describe('the facts about a run', () => {
  it('name when it started and ended, and what it came from', () => {
    const task = {
      ...SHOWN_TASK,
      ...{ id: 't', status: 'completed', definition_hash: 'abc', trigger: 'schedule', scheduled_agent_id: 's7' },
      ...{ forked_from: { task_id: 't3', step: 5 }, created_at: at(2), started_at: at(3), completed_at: at(7) },
      ...{ elapsed_seconds: 7, usage: { total_in: 1, total_out: 2, cost: 0 }, engine_run_url: 'http://engine/t' },
    };
    const props = { task, status: 'completed', followed: { run: emptyRun, connection: 'ended', problem: null } };
    const html = the.render(the.RunFacts, { props });
    const { Started, Ended, Trigger } = readFacts(html);
    expect([Started, Ended, Trigger]).toEqual([expect.stringContaining('3 Mar'), expect.stringContaining('7 Mar'), 'schedule']);
    expect(readLinks(html)).toEqual({
      ...{ Daily: '/workflows/w', Clerk: '/agents/a', 'Temporal UI': 'http://engine/t' },
      ...{ schedule: '/scheduled-agents/s7', 'step 5 of another run': '/tasks/t3' },
    });
  });
});

describe('the tools of an MCP server', () => {
  const tool = (name: string, allowed: boolean) => ({ name, allowed, effect: 'read', description: `To ${name}` });
  const shown = (tools: object[], listed_at: string | null, me?: object) =>
    the.render(the.McpTools, {
      props: { id: 'm' },
      replies: { list_mcp_tools: { tools, listed_at }, get_me: me },
      signed_in: true,
    });
  /** The boxes that are ticked, and those that cannot be changed. */
  const boxes = (html: string) =>
    ['checked', 'disabled'].map((state) =>
      [...html.matchAll(/<input([^>]*)>/g)].map(([, attributes = '']) => attributes.includes(` ${state}=""`)),
    );

  it('are unknown until they were listed', () => {
    expect(toText(shown([], null))).toContain('The tools have not been listed yet.');
    expect(toText(shown([], at(3)))).toContain('The server offers no tools.');
  });

  it('are ticked if agents can use them; the last one stays ticked', () => {
    const tools = [tool('a', true), tool('b', false), tool('c', true)];
    expect(boxes(shown(tools, at(3)))).toEqual([
      [true, false, true],
      [false, false, false],
    ]);
    expect(boxes(shown([tool('a', false), tool('b', true)], at(3)))[1]).toEqual([false, true]);
    const viewer = shown(tools, at(3), { role: 'viewer', scopes: ['read'], service_key_id: null });
    expect(boxes(viewer)[1]).toEqual([true, true, true]);
    expect(toText(viewer)).toContain('Your role viewer does not have the scope write');
  });
});

describe('the items of a dataset', () => {
  it('have their expected answer, their recorded calls and their run', () => {
    const item = (more: object) => ({
      id: 'i',
      dataset_id: 'd',
      prompt: 'Which?',
      expected: null,
      calls: [],
      source_task_id: null,
      created_at: at(3),
      ...more,
    });
    const items = [item({ expected: false, calls: [{}, {}], source_task_id: 't7' }), item({ id: 'j' })];
    const html = the.render(the.Items, { props: { dataset_id: 'd' }, replies: { list_dataset_items: page(items) } });
    const [one, two] = html.split('<details').slice(1);
    expect(toText(`<p${one}`)).toMatch(/^Which\? false .*Expected answer .*Added 3 Mar.* Recorded 2 tool calls Taken from a run/);
    expect(readLinks(one!)).toEqual({ 'a run': '/tasks/t7' });
    expect(toText(`<p${two}`)).toContain('no expected answer');
    expect(toText(`<p${two}`)).not.toMatch(/Recorded|Taken from/);
  });
});

it.each([
  ['Items', { dataset_id: 'd7' }, 'list_dataset_items', { id: 'd7' }],
  ['Versions', { workflow_id: 'w7' }, 'list_workflow_versions', { id: 'w7' }],
] as const)('%s are kept by what they belong to, not shown for another', (screen, props, operation, params) => {
  const asked: unknown[] = [];
  const list = (input: { params?: object }) => void asked.push(input.params);
  the.render(the[screen], { props, replies: { [operation]: list as never } });
  expect(asked).toEqual([params]);
});

describe('each list of records', () => {
  it('asks for what its search and its filters name, each of which the service knows', () => {
    const asked_queries: object[] = [];
    for (const [slug, { endpoints, filters = [], title }] of Object.entries(the.CATALOG)) {
      const { query, operation } = endpoints.list as unknown as { query: ZodType; operation: string };
      const wanted = filters.map((filter) => [filter.name, 'of' in filter ? ID : filter.options.at(-1)!]);
      const search = { q: 'seven', ...Object.fromEntries(wanted) };
      expect([slug, query.parse(search)]).toEqual([slug, expect.objectContaining(search)]);
      const asked: object[] = [];
      const list = ({ query }: { query: object }) => {
        asked.push(query);
        return page([]);
      };
      const html = the.render(the.ListPage, {
        ...{ at: `/${slug}?${new URLSearchParams(search)}`, path: '/:resource', replies: { [operation]: list } },
      });
      const text = toText(html);
      expect([slug, asked.slice(0, 1)]).toEqual([slug, [expect.objectContaining(search)]]);
      expect(text).toContain(title);
      expect(text).toContain('No match. Change the search or the filters.');
      asked_queries.push(search);
    }
    expect(asked_queries.length).toBeGreaterThan(9);
  });

  it('offers each choice that the service has for a filter', () => {
    for (const [slug, { endpoints, filters = [] }] of Object.entries(the.CATALOG))
      for (const filter of filters) {
        if (!('options' in filter)) continue;
        const { query } = endpoints.list as unknown as { query: ZodObject };
        let schema = query.shape[filter.name] as { options?: string[]; unwrap?(): never };
        while (schema.unwrap) schema = schema.unwrap();
        expect([slug, [...filter.options].sort()]).toEqual([slug, [...schema.options!].sort()]);
      }
  });
});

describe('the page that creates a record', () => {
  it('begins with what its address names, as a link from another screen does', () => {
    const shown = (at: string) => the.render(the.CreatePage, { at, path: '/:resource/new' });
    const values = (html: string) => [...html.matchAll(/<(?:input|textarea)[^>]*\svalue="([^"]+)"/g)].map(([, value]) => value);
    for (const [slug, { noun }] of Object.entries(the.CATALOG)) {
      const html = shown(`/${slug}/new?name=Seven&title=Seven&key=Seven&unknown=Eleven`);
      expect([slug, values(html).filter((value) => /Seven|Eleven/.test(value!))]).toEqual([slug, ['Seven']]);
      expect(toText(html)).toContain(`New ${noun}`);
      expect(Object.keys(readButtons(html))).toContain(`Create ${noun}`);
    }
    expect(toText(shown('/nothing/new'))).not.toContain('Create');
  });
});

describe('the page of a record', () => {
  it('names it, says who made it and when it was changed, and which tokens it needs', () => {
    const skill = {
      ...{ id: ID, name: 'Sums', description: 'Adds', instructions: 'Add.', tags: [], created_by: 'alice', needs: ['mine'] },
      ...{ created_at: at(3), updated_at: at(7), warnings: [{ path: 'instructions', message: 'Short' }] },
    };
    const html = the.render(the.EditPage, { at: `/skills/${ID}`, path: '/:resource/:id', replies: { get_skill: skill } });
    const facts = readFacts(html);
    expect(facts).toMatchObject({ 'Created by': 'alice', Created: expect.stringContaining('3 Mar') });
    expect(facts.Changed).toContain('7 Mar');
    const text = toText(html);
    expect(text).toContain('Sums');
    expect(text).toContain('This skill needs a token');
    expect(text).toContain('instructions : Short');
    expect(Object.keys(readButtons(html))).toEqual(expect.arrayContaining(['Export', 'Delete …', 'Save changes']));
  });
});
