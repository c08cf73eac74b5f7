import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ZodObject, ZodType } from 'zod';
import { ApiProblem } from '../../src/dashboard/api/call.ts';
import { browserSession } from '../../src/dashboard/api/session.ts';
import { closeScreens, openScreens, readButtons, readFacts, readLinks, toText } from '../support/browser/rendered.ts';
import type { Sent } from '../support/browser/sent.ts';

const at = (day: number) => new Date(Date.UTC(2019, 2, day, 12, 11, 13)).toISOString();
const page = (items: object[]) => ({ items, total: items.length, next: null });

let the: Awaited<ReturnType<typeof openScreens>>;
beforeAll(async () => {
  the = await openScreens(Date.UTC(2026, 0, 31, 12));
}, 60_000);
afterAll(closeScreens);

it.each([
  ['ListPage', '/nothing', '/:resource'],
  ['CreatePage', '/nothing/new', '/:resource/new'],
  ['EditPage', '/nothing/7', '/:resource/:id'],
] as const)('%s of no resource says that the address has no screen', (screen, address, path) => {
  expect(toText(the.render(the[screen], { at: address, path }))).toContain('No screen has this address.');
});

it('a record of each kind has a name, of which its page is the title', () => {
  const unnamed = Object.entries(the.CATALOG).filter(([, { endpoints, formatName }]) => {
    const { shape } = endpoints.get.reply as ZodObject;
    return !formatName && (!shape.name || [undefined, null].some((name) => (shape.name as ZodType).safeParse(name).success));
  });
  expect(unnamed).toEqual([]);
});

it('a request without a problem shows no failure', () => {
  expect(toText(the.render(the.Failure, { props: { problem: null } }))).toBe('');
  expect(the.render(the.FailureBelow, { props: { problem: null } })).not.toContain('<div');
  const problem = new ApiProblem({ status: 409, code: 'x', detail: 'Gone' });
  expect(toText(the.render(the.FailureBelow, { props: { problem } }))).toBe('Request failed Gone.');
});

describe('the page of a memory', () => {
  const memory = { id: 'm', agent_id: 'a7', scope: 'session', workflow_id: null, task_id: null, updated_at: at(3) };
  const replies = { list_agents: page([{ id: 'a7', name: 'Clerk' }]), list_workflows: page([{ id: 'w5', title: 'Daily' }]) };
  const shown = (more: object) => the.render(the.MemoryPanel, { props: { record: { ...memory, ...more } }, replies });

  it('leads to its agent, and to the workflow and the run that it is of', () => {
    expect(readLinks(shown({}))).toEqual({ Clerk: '/agents/a7' });
    expect(readLinks(shown({ workflow_id: 'w5' }))).toEqual({ Clerk: '/agents/a7', Daily: '/workflows/w5' });
    const links = readLinks(shown({ task_id: 't3' }));
    expect(links).toEqual({ Clerk: '/agents/a7', 'a run': '/tasks/t3' });
    expect(readFacts(shown({}))).toMatchObject({ Scope: 'session', Changed: expect.stringContaining('3 Mar') });
  });
});

describe('the history of an alert', () => {
  const alert = {
    ...{ id: 'a', measure: 'backlog', last_value: 3, state: 'ok', state_since: at(3), enabled: true, measured_at: at(5) },
    muted_until: null,
  };
  const event = (id: string, more: object) => ({
    ...{ id, at: at(7), state: 'firing', value: 11, threshold: 5, muted: false },
    ...{ deliveries: [], ...more },
  });
  const shown = (...events: object[]) =>
    toText(the.render(the.AlertPanel, { props: { record: alert }, replies: { list_alert_events: page(events) } }));

  it('says of each change whether its message arrived, or why there was none', () => {
    const text = shown(
      event('e1', { deliveries: [{ channel: 'webhook', to: 'a.example', status: 'failed', attempts: 13, error: 'Refused' }] }),
      event('e2', { deliveries: [{ channel: 'slack', to: 'b.example', status: 'delivered', attempts: 2, error: null }] }),
      event('e3', { muted: true }),
      event('e4', { state: 'ok', value: 4 }),
    );
    expect(text).toMatch(/fired 11 pending 5 pending failed webhook a\.example 13 attempts\. Refused/);
    expect(text).toMatch(/fired 11 pending 5 pending delivered slack b\.example/);
    expect(text).toMatch(/fired 11 pending 5 pending muted/);
    expect(text).toMatch(/resolved 4 pending 5 pending none: no address/);
    expect(text).not.toContain('2 attempts');
    expect(shown()).toContain('It has not fired yet.');
  });
});

describe('the page of a tool that is a plugin', () => {
  it('says where its source is, instead of a form', () => {
    const tool = (is_plugin: boolean) => {
      const value = {
        ...{ id: 't', name: 'add', is_plugin, is_enabled: true, network: false, env_config: null, parameters_schema: {} },
        ...{ source_code: 'def add(): ...', created_at: at(3), updated_at: at(5) },
      };
      const get = (input: unknown) => (input === 'form' ? { value, tag: '"7"' } : value);
      return the.render(the.EditPage, { at: '/custom-tools/t', path: '/:resource/:id', replies: { get_custom_tool: get } });
    };
    expect(toText(tool(true))).toContain('This tool is a plugin. Edit its source in the plugin folder.');
    expect(readButtons(tool(true))).not.toHaveProperty('Save changes');
    expect(toText(tool(false))).not.toContain('plugin folder');
    expect(readButtons(tool(false))).toHaveProperty('Save changes');
  });
});

describe('a record that someone else changed meanwhile', () => {
  it('is compared with what was typed, without its secrets', () => {
    const fields = [
      { name: 'description', label: 'Description', control: 'text' },
      { name: 'value', label: 'Value', control: 'secret' },
    ];
    const conflict = { newer: { value: { description: 'theirs', value: 'hunter2' }, tag: '"7"' }, fields };
    const text = toText(the.render(the.ChangedMeanwhile, { props: { conflict, load() {}, keep() {} } }));
    expect(text).toContain('Changed while you edited: Description, Value.');
    expect(text).toMatch(/Description, stored value .*theirs.*Value, stored value A different value/);
    expect(text).not.toContain('hunter2');
  });
});

describe('the page to which an MCP server sends a person back', () => {
  const shown = (hash: string, sent: Sent = {}) => {
    vi.stubGlobal('location', { origin: 'https://perdura.example', hash });
    return the.render(the.McpSignIn, { sent });
  };

  it('finishes the sign-in, or reports why it cannot', () => {
    const complete = '#server_id=m&state=s&code=c';
    expect(shown(complete)).toContain('Finishing the sign-in');
    const refused = shown(complete, { finish_mcp_sign_in: new ApiProblem({ status: 409, code: 'x', detail: 'It is too old' }) });
    expect(toText(refused)).toContain('Request failed It is too old.');
    expect(refused).not.toContain('Finishing the sign-in');
    for (const part of ['server_id=m', 'state=s', 'code=c']) {
      const html = shown(complete.replace(part, ''));
      expect(toText(html)).toContain('The server did not sign you in. Open the server');
      expect(html).not.toContain('Finishing the sign-in');
    }
    expect(toText(shown('#error=access_denied'))).toContain('did not sign you in: access_denied. Open');
    expect(toText(shown('#error=access_denied&error_description=You+said+no'))).toContain('did not sign you in: You said no.');
  });
});

describe('the page that creates a record with types', () => {
  it('has the fields of the type, once it is chosen', () => {
    const server = (search: string) => toText(the.render(the.CreatePage, { at: `/mcps/new${search}`, path: '/:resource/new' }));
    expect(server('?transport_type=stdio')).toMatch(/Connection Command/);
    expect(server('?transport_type=http')).toMatch(/Connection URL/);
    expect(server('')).not.toMatch(/Connection (Command|URL)/);
    const shown = (search: string) =>
      toText(the.render(the.CreatePage, { at: `/guardrails/new${search}`, path: '/:resource/new' }));
    expect(shown('?guardrail_type=request')).toMatch(/Rules .*JSON schema/i);
    expect(shown('?guardrail_type=output')).toMatch(/Rules .*Forbidden patterns/);
    expect(shown('')).not.toContain('Forbidden patterns');
  });
});

describe('what was changed of an agent in the playground', () => {
  const shown = (name: string, before: unknown, after: unknown) => {
    const props = { line: { name, place: 'agent', before, after }, checked: true, set() {} };
    const replies = {
      list_providers: page([{ id: 'p3', name: 'near' }]),
      list_mcp_servers: page([
        { id: 'm5', name: 'mail' },
        { id: 'm7', name: 'maps' },
      ]),
    };
    return toText(the.render(the.LineChoice, { props, replies }));
  };

  it('is named, not shown as ids', () => {
    const provider = shown('provider_id', null, 'p3');
    expect(provider).toMatch(/^provider of the agent .*\+ near/);
    expect(provider).not.toContain('null');
    const servers = shown('mcp_server_ids', ['m5', 'm7'], ['m7', 'gone']);
    expect(servers).toContain('− mail');
    expect(servers).toContain('+ gone');
    expect(servers).not.toContain('m5');
  });
});

describe('the page that signs a person in', () => {
  const ISSUER = { issuer: 'Example ID', login_url: '/auth/login', signed_in: true };
  const store = (token: string | null) => ({ getItem: () => token, setItem() {}, removeItem() {} }) as unknown as Storage;
  const openSession = (issuer = ISSUER as object, token: string | null = null) =>
    browserSession({ tab: store(token), computer: store(null) }, issuer as typeof ISSUER);
  const shown = (search: string, session = openSession()) => {
    vi.stubGlobal('location', { origin: 'https://perdura.example', pathname: '/dashboard/tasks', search });
    return the.render(the.SignIn, { session });
  };

  it.each([
    ['expired', 'The sign-in took too long or was started in another window. Start it again.'],
    ['denied', 'Example ID did not let you sign in.'],
    ['unreachable', 'Example ID cannot be reached. Try again shortly, or use an access token.'],
    ['refused', 'The sign-in with Example ID failed. Start it again; if it fails again, the log of the service has the reason.'],
  ])('says what is wrong if the issuer sent them back as %s', (problem, text) => {
    expect(toText(shown(`?sign_in=${problem}`))).toContain(text);
    expect(toText(shown(''))).not.toContain(text);
  });

  it('leads to the issuer, and from there back to the page that was asked for', () => {
    const backFrom = (search: string) => {
      const href = readLinks(shown(search))['Sign in with Example ID']!;
      return new URLSearchParams(href.split('?')[1]).get('return_to');
    };
    expect([backFrom(''), backFrom('?sign_in=denied'), backFrom('?q=seven&sign_in=denied')]).toEqual([
      ...['/dashboard/tasks', '/dashboard/tasks', '/dashboard/tasks?q=seven'],
    ]);
    expect(readLinks(shown('', openSession({ issuer: null, login_url: null, signed_in: false })))).toEqual({});
  });

  it('says what ended the last session', () => {
    const [by_cookie, by_token] = [openSession(), openSession(ISSUER, 'hunter2')];
    for (const session of [by_cookie, by_token]) void session.onRefused(session.token());
    const texts = [openSession(), by_cookie, by_token].map((session) => toText(shown('', session)));
    expect(texts.map((text) => /Your sign-in has ended|no longer valid/.exec(text)?.[0])).toEqual([
      ...[undefined, 'Your sign-in has ended', 'no longer valid'],
    ]);
  });
});
