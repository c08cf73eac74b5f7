import Anthropic from '@anthropic-ai/sdk';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Definition } from '../../src/domain/definition.ts';
import { foldEvents } from '../../src/runtimes/managed/fold.ts';
import { createManagedRuntime } from '../../src/runtimes/managed/session.ts';
import type { Exchange } from '../../src/runtimes/runtime.ts';
import { selectRuntime } from '../../src/runtimes/select.ts';
import {
  agentAsks,
  agentSays,
  ends,
  spends,
  startVendorServer,
  type VendorServer,
  works,
} from '../support/peers/vendor-server.ts';
import { caller, DIRECT, exchangeOf, failure, message, providerOf } from './support.ts';

let vendor: VendorServer;
beforeEach(async () => {
  vendor = await startVendorServer();
});
afterEach(() => vendor.stop());

const provider = providerOf({ provider_type: 'anthropic', api_key_token_name: 'vendor-key', default_model: 'claude-test' });
const tool = { name: 'add', description: 'Adds', parameters: { type: 'object', properties: {} }, effect: 'read' as const };

async function open(definition: Partial<Definition> = {}) {
  const options = { default_runtime: { base_url: 'http://127.0.0.1:9', model: null }, vendor_url: vendor.url, ...DIRECT };
  return (await selectRuntime({ provider, tools: [], ...definition }, caller, options)).runtime;
}

async function exchange(
  values: Partial<Exchange> = {},
  definition: Partial<Definition> = {},
  signal = new AbortController().signal,
) {
  const runtime = await open(definition);
  let streamed = '';
  const answer = await runtime.exchange(exchangeOf({ tools: [tool], ...values }), (delta) => (streamed += delta), signal);
  return { ...answer, streamed };
}

const answeredWith = (reply: Awaited<ReturnType<typeof exchange>>['reply'], ...results: string[]) => {
  const tool_calls = reply.calls.map(({ name, arguments: args }, index) => ({
    call_id: `1-${index + 1}`,
    name,
    arguments: args,
  }));
  return [
    message({ content: 'Go.' }),
    message({ step: 1, role: 'assistant', kind: 'reply', content: reply.text, tool_calls, extra: reply.extra }),
    ...results.map((content, index) =>
      message({ step: 1, position: index + 1, role: 'tool', kind: 'result', content, call_id: `1-${index + 1}` }),
    ),
  ];
};
const sent = (type: string) => vendor.sessions.flatMap(({ events }) => events.filter((event) => event.type === type));

describe('a vendor session', () => {
  it('receives the prompt, streams the answer, and reports its usage', async () => {
    vendor.script([...agentSays('Hello you there'), spends(10, 5)]);
    const { reply, streamed } = await exchange();
    expect(reply).toMatchObject({ text: 'Hello you there', finish: 'stop', calls: [], model: 'claude-test' });
    expect(reply.usage).toEqual({ total_in: 15, total_out: 5, cache_read: 3, cache_write: 2 });
    expect(streamed).toBe('Hello you there');
    expect(vendor.sessions[0]).toMatchObject({ environment_id: 'env_1' });
  });

  it('calls custom tools and continues with their results in the same session', async () => {
    vendor.script(agentAsks({ name: 'add', input: { a: 1 } }, { name: 'add' }), agentSays('Two.'));
    const first = await exchange();
    expect(first.reply.calls.map(({ name, arguments: args }) => [name, args])).toEqual([
      ['add', '{"a":1}'],
      ['add', '{}'],
    ]);
    const second = await exchange({ cursor: first.cursor, transcript: answeredWith(first.reply, '1', '') });
    expect(second.reply).toMatchObject({ text: 'Two.', finish: 'stop' });
    expect(vendor.sessions).toHaveLength(1);
    expect(sent('user.custom_tool_result').map(({ content }) => content[0].text)).toEqual(['1', '(no content)']);
  });

  it('is kept open after its answer, which may be sent back, or followed by a message that waited', async () => {
    vendor.script(agentSays('It is 3.'), agentSays('{"sum": 3}'));
    const first = await exchange({ tools: [] });
    expect(vendor.sessions[0]?.archived_at ?? null).toBeNull();
    const repair = message({ step: 1, position: 110_000, kind: 'repair', content: 'Answer again.' });
    const steer = message({ step: 1, position: 120_000, kind: 'steer', content: 'In French.' });
    const transcript = [...answeredWith(first.reply), repair, steer];
    const second = await exchange({ tools: [], cursor: first.cursor, transcript });
    expect([second.reply.text, vendor.sessions.length]).toEqual(['{"sum": 3}', 1]);
    expect(sent('user.message').map(({ content }) => content[0].text)).toEqual(['Go.', 'Answer again.', 'In French.']);
    expect(vendor.sessions[0]?.archived_at ?? null).toBeNull();
  });

  it('reuses an identical agent and environment', async () => {
    vendor.script(agentSays('a'), agentSays('b'), agentSays('c'));
    await exchange({ task_id: 'one' });
    await exchange({ task_id: 'two' });
    await exchange({ task_id: 'three', instructions: 'Be long.' });
    expect([vendor.agents.length, vendor.environments.length, vendor.sessions.length]).toEqual([2, 1, 3]);
  });

  it('runs vendor built-ins and public MCP servers at the vendor, everything else here', async () => {
    vendor.script(agentSays('ok'));
    const server = { id: 'm', allowed_tools: [], network: false, paths: [], required: false, transport_type: 'http' };
    const mcp_servers = [
      { ...server, name: 'public', connection_config: { url: 'https://mcp.example.org/mcp', headers: {} } },
      {
        ...server,
        name: 'secret',
        connection_config: { url: 'https://mcp.example.org/mcp', headers: { authorization: '{{token:x}}' } },
      },
    ];
    const tools: Definition['tools'] = [
      { kind: 'builtin', name: 'bash' },
      { kind: 'builtin', name: 'manage_todo_list' },
    ];
    await exchange({}, { tools, mcp_servers });
    const { tools: given, mcp_servers: handed } = vendor.agents[0] as { tools: object[]; mcp_servers: object[] };
    expect(handed).toEqual([{ type: 'url', name: 'public', url: 'https://mcp.example.org/mcp' }]);
    expect(given).toMatchObject([
      { type: 'custom', name: 'add' },
      { type: 'agent_toolset_20260401', default_config: { enabled: false }, configs: [{ name: 'bash', enabled: true }] },
      { type: 'mcp_toolset', mcp_server_name: 'public' },
    ]);
  });

  it.each([
    ['a disabled one', { disabled: true }, {}],
    ['one that people sign in at', {}, { oauth: { scopes: [] } }],
    ['one with headers', {}, { headers: { 'x-key': 'k' } }],
    ['one at an address with a token', {}, { url: 'https://mcp.example.org/{{token:x}}' }],
    ['one at an address with a query', {}, { url: 'https://mcp.example.org/mcp?key=k' }],
    ['one at an address with an account', {}, { url: 'https://a@mcp.example.org/mcp' }],
    ['one without TLS', {}, { url: 'http://mcp.example.org/mcp' }],
    ['a command', { transport_type: 'stdio' }, {}],
  ])('does not let the vendor call %s', async (_, values, connection) => {
    vendor.script(agentSays('ok'));
    const server = {
      id: 'm',
      name: 'other',
      allowed_tools: [],
      network: false,
      paths: [],
      required: false,
      transport_type: 'http',
    };
    const mcp_servers = [
      { ...server, name: 'public', connection_config: { url: 'https://mcp.example.com/mcp', headers: {} } },
      { ...server, ...values, connection_config: { url: 'https://mcp.example.org/mcp', headers: {}, ...connection } },
    ] as Definition['mcp_servers'];
    await exchange({}, { tools: [], mcp_servers });
    expect(vendor.agents[0]).toMatchObject({ mcp_servers: [{ name: 'public' }] });
    expect((vendor.agents[0] as { mcp_servers: object[] }).mcp_servers).toHaveLength(1);
  });
});

describe('a session of a later turn', () => {
  const earlier = [
    message({ turn: 1, position: -2, role: 'system', kind: 'context', content: 'Ada has 11 cats.' }),
    message({ turn: 1, content: 'How many is 13 and 17?' }),
    message({
      ...{ turn: 1, step: 1, role: 'assistant', kind: 'reply', extra: { tool_use_ids: ['sevt_19'] } },
      tool_calls: [{ call_id: '1-1-1', name: 'add', arguments: '{"a":13}' }],
    }),
    message({ turn: 1, step: 1, position: 1, role: 'tool', kind: 'result', content: '30', call_id: '1-1-1' }),
    message({ turn: 1, step: 2, role: 'assistant', kind: 'reply', content: 'It is 30.' }),
  ];
  const own = [
    message({ turn: 2, position: -2, role: 'system', kind: 'context', content: 'Bob has 19 dogs.' }),
    message({ turn: 2, content: 'And 23 more?' }),
  ];
  const texts = () => sent('user.message').map(({ content }) => content[0].text);
  const TOLD = expect.stringMatching(
    /^The conversation before.*Ada has 11 cats.*13 and 17\?.*add\(.*30.*It is 30\.\n<\/message>$/s,
  );

  it('receives the turns before as a text, then its own context and prompt', async () => {
    vendor.script(agentSays('It is 53.'));
    const { reply } = await exchange({ transcript: [...earlier, ...own] });
    expect(reply.text).toBe('It is 53.');
    expect(texts()).toEqual([TOLD, 'Bob has 19 dogs.', 'And 23 more?']);
    expect(sent('user.custom_tool_result')).toEqual([]);
  });

  it('receives that text once, also if its worker was lost', async () => {
    vendor.script(agentAsks({ name: 'add' }), agentSays('It is 53.'));
    const first = await exchange({ transcript: [...earlier, ...own] });
    await exchange({ transcript: [...earlier, ...own] });
    const tool_calls = [{ call_id: '2-1-1', name: 'add', arguments: '{}' }];
    const asked = message({ turn: 2, step: 1, role: 'assistant', kind: 'reply', tool_calls, extra: first.reply.extra });
    const result = message({ turn: 2, step: 1, position: 1, role: 'tool', kind: 'result', content: '53', call_id: '2-1-1' });
    const { reply } = await exchange({ cursor: first.cursor, transcript: [...earlier, ...own, asked, result] });
    expect(reply.text).toBe('It is 53.');
    expect(texts()).toEqual([TOLD, 'Bob has 19 dogs.', 'And 23 more?']);
    expect(sent('user.custom_tool_result').map(({ content }) => content[0].text)).toEqual(['53']);
  });
});

describe('the agent of a session', () => {
  it.each<[string | null, string, unknown]>([
    ['minimal', 'Be brief.', { id: 'claude-test', effort: 'low' }],
    ['high', 'Be brief.', { id: 'claude-test', effort: 'high' }],
    [null, '', 'claude-test'],
  ])('has the effort %s and the instructions %j', async (reasoning_effort, instructions, model) => {
    vendor.script(agentSays('ok'));
    await exchange({ reasoning_effort, instructions } as Partial<Exchange>);
    expect(vendor.agents[0]).toMatchObject({ model, system: instructions || null });
  });

  it('has none of the tools on files if one of them is guarded', async () => {
    vendor.script(agentSays('ok'));
    const tools: Definition['tools'] = ['bash', 'read', 'web_search'].map((name) => ({ kind: 'builtin', name }));
    await exchange({}, { tools, approval_tools: ['bash'] });
    expect(vendor.agents[0]).toMatchObject({
      tools: [{ name: 'add' }, { type: 'agent_toolset_20260401', configs: [{ name: 'web_search' }] }],
    });
  });
});

describe('a session whose worker was lost', () => {
  it('is found again and does not receive the prompt twice', async () => {
    vendor.script(agentSays('Said once.'));
    await exchange();
    const again = await exchange();
    expect(again.reply.text).toBe('Said once.');
    expect([vendor.sessions.length, sent('user.message').length]).toEqual([1, 1]);
  });

  it('answers no call twice', async () => {
    vendor.script(agentAsks({ name: 'add' }), agentSays('Done.'));
    const first = await exchange();
    const asked = { cursor: first.cursor, transcript: answeredWith(first.reply, '1') };
    await exchange(asked);
    expect((await exchange(asked)).reply.text).toBe('Done.');
    expect(sent('user.custom_tool_result')).toHaveLength(1);
  });

  it('resumes where its stream broke off', async () => {
    vendor.script([
      ...agentSays('Half'),
      { type: 'session.status_idle', stop_reason: { type: 'requires_action', event_ids: [] } },
    ]);
    const broken = failure(exchange());
    await expect.poll(() => sent('session.status_idle').length).toBe(1);
    vendor.cut();
    expect(await broken).toMatchObject({ code: 'model_stream_cut', recoverable: true });
    const [session] = vendor.sessions;
    session?.events.push({ id: 'later', ...ends });
    expect((await exchange()).reply.text).toBe('Half');
    expect(sent('user.message')).toHaveLength(1);
  });
});

describe('a session whose task has ended', () => {
  const end = async (values: { cursor: unknown; started_at: Date | null }) => {
    const client = new Anthropic({ apiKey: 'key', baseURL: vendor.url, maxRetries: 0 });
    const runtime = createManagedRuntime({ client, default_model: 'claude-test', hosted: { builtins: [], mcp_servers: [] } });
    await runtime.end!({ task_id: exchangeOf().task_id, ...values }, new AbortController().signal);
  };

  it.each([null, new Date()])('is archived, also if nothing on record names it: started at %s', async (started_at) => {
    vendor.script(agentSays('ok'));
    await exchange();
    await end({ cursor: null, started_at });
    expect(vendor.sessions[0]).toMatchObject({ archived_at: expect.any(String) });
  });

  it('may have been deleted at the vendor', async () => {
    await end({ cursor: { session_id: 'gone', seen: null }, started_at: null });
    expect(vendor.sessions).toEqual([]);
  });

  it('is not taken for ended if the vendor refuses', async () => {
    vendor.refuse({ status: 403 });
    await expect(end({ cursor: { session_id: 'gone', seen: null }, started_at: null })).rejects.toThrow('scripted refusal');
  });
});

describe('the session of a run that has ended', () => {
  const signal = new AbortController().signal;
  /** Sessions of three runs that failed before a reply was recorded, and what is archived after the end of the second one. */
  async function endSecond(started_at: Date | null) {
    for (const task_id of ['first', 'second', 'third']) {
      vendor.refuse({ status: 400, path: /events\/stream/ });
      await failure(exchange({ task_id }));
    }
    await (await open()).end?.({ task_id: 'second', cursor: null, started_at }, signal);
    return vendor.sessions.map(({ metadata, archived_at }) => [metadata.perdura_task, archived_at !== null]);
  }

  it.each([
    ['of a run that has just begun, by a clock that is behind', () => new Date()],
    ['of a run without a time', () => null],
    ['of a run that began a day ago', () => new Date(Date.now() - 86_400_000)],
  ])('is found without a reply and archived, and no other: %s', async (_, started_at) => {
    expect(await endSecond(started_at())).toEqual([
      ['first', false],
      ['second', true],
      ['third', false],
    ]);
  });

  it('is not searched for among those that were created before the run', async () => {
    expect(await endSecond(new Date(Date.now() + 60_000))).not.toContainEqual([expect.any(String), true]);
  });

  it('is archived by the recorded position, unless it was', async () => {
    vendor.script(agentAsks({ name: 'add' }));
    const { cursor } = await exchange({ task_id: 'asks' });
    const runtime = await open();
    const end = (more: object) =>
      runtime.end?.({ task_id: 'x', cursor: { ...(cursor as object), ...more }, started_at: null }, signal);
    await end({ archived: true });
    expect(vendor.sessions[0]?.archived_at).toBeNull();
    await end({});
    const { archived_at } = vendor.sessions[0]!;
    expect(archived_at).toEqual(expect.any(String));
    // An archived session is not archived a second time.
    vendor.refuse({ status: 400, path: /archive/ });
    await end({});
    expect(vendor.sessions[0]).toMatchObject({ archived_at });
  });
});

describe('a session that goes wrong', () => {
  it.each([
    [
      'a provider that fails for good',
      { type: 'model_request_failed_error', message: 'no', retry_status: { type: 'terminal' } },
      'model_error',
      false,
    ],
    ['a limit', { type: 'model_rate_limited_error', message: 'slow', retry_status: { type: 'exhausted' } }, 'rate_limited', true],
  ])('%s fails the exchange', async (_, error, code, recoverable) => {
    vendor.script([{ type: 'session.error', error }]);
    expect(await failure(exchange())).toMatchObject({ code, recoverable });
  });

  /** What passes by itself: everything else would fail again. */
  const PASSING = ['model_rate_limited_error', 'model_overloaded_error'];

  it.each([
    ...PASSING,
    ...[
      'model_request_failed_error',
      'billing_error',
      'mcp_connection_failed_error',
      'tool_use_limit_reached_error',
      'unknown_error',
    ],
  ])('%s may be tried again only if it passes by itself, whatever the vendor did about it', async (type) => {
    const outcomes: boolean[] = [];
    for (const status of ['exhausted', 'terminal', undefined]) {
      const error = { type, message: 'no', ...(status ? { retry_status: { type: status } } : {}) };
      vendor.script([{ type: 'session.error', error }]);
      outcomes.push((await failure(exchange({ task_id: `${type} ${status}` }))).recoverable);
    }
    expect(outcomes).toEqual(Array(3).fill(PASSING.includes(type)));
  });

  it.each<[string, object[], string, boolean]>([
    ['that is ended', [{ type: 'session.status_terminated' }], 'session_ended', false],
    ['that is deleted', [{ type: 'session.deleted' }], 'session_ended', false],
    ['without budget', [{ type: 'session.status_idle', stop_reason: { type: 'budget_reached' } }], 'provider_budget', false],
    ['that stops otherwise', [{ type: 'session.status_idle', stop_reason: { type: 'odd_end' } }], 'model_error', false],
  ])('%s fails the exchange', async (_, events, code, recoverable) => {
    vendor.script(events);
    expect(await failure(exchange())).toMatchObject({ code, recoverable });
  });

  it.each([
    ['I cannot do', 'It is unsafe.', 'I cannot do'],
    ['', 'It is unsafe.', 'It is unsafe.'],
    ['', null, 'The model refused to answer.'],
  ])('a refusal after %j, explained by %j', async (said, explanation, text) => {
    const refusal = { type: 'session.status_idle', stop_reason: { type: 'refusal' }, stop_details: { explanation } };
    vendor.script([...(said ? agentSays(said) : []), refusal]);
    expect((await exchange()).reply).toMatchObject({ text, finish: 'refusal' });
  });

  it('silence ends the exchange, which may be tried again', async () => {
    vendor.script([works]);
    const client = new Anthropic({ apiKey: 'key', baseURL: vendor.url, maxRetries: 0 });
    const hosted = { builtins: [], mcp_servers: [] };
    const runtime = createManagedRuntime({ client, default_model: 'claude-test', hosted, idle_ms: 200 });
    const { signal } = new AbortController();
    const { code, recoverable, message: words } = await failure(runtime.exchange(exchangeOf(), () => {}, signal));
    expect({ code, recoverable, words }).toEqual({
      ...{ code: 'model_timeout', recoverable: true, words: 'The session sent nothing for 0.2 s' },
    });
  });

  it('a rate limit states how long to wait, a revoked key what to do', async () => {
    vendor.refuse({ status: 429, headers: { 'retry-after': '3' } });
    expect(await failure(exchange())).toMatchObject({ code: 'rate_limited', retry_after_ms: 3_000 });
    vendor.refuse({ status: 401 });
    expect(await failure(exchange())).toMatchObject({ code: 'model_unauthorized', recoverable: false });
  });

  it.each([408, 409, 503])('an answer of %i may be retried', async (status) => {
    vendor.refuse({ status });
    expect(await failure(exchange())).toMatchObject({ code: 'model_error', recoverable: true });
  });

  it('an error that the vendor retries is not a failure', async () => {
    const error = { type: 'model_overloaded_error', message: 'busy', retry_status: { type: 'retrying' } };
    vendor.script([{ type: 'session.error', error }, ...agentSays('After all.'), ends]);
    expect((await exchange()).reply.text).toBe('After all.');
  });

  it('calls made while tools are off are denied until there is an answer', async () => {
    vendor.script(agentAsks({ name: 'add' }), agentSays('Fine.'));
    expect((await exchange({ tools: [] })).reply).toMatchObject({ text: 'Fine.', calls: [] });
    expect(sent('user.custom_tool_result')[0]).toMatchObject({ is_error: true });
  });

  it('a halt interrupts it, but a worker shutdown does not', async () => {
    const waiting = [{ type: 'session.status_idle', stop_reason: { type: 'requires_action', event_ids: [] } }];
    for (const [reason, interrupts] of [
      [Object.assign(new Error('x'), { type: 'Halted' }), 1],
      [new Error('WORKER_SHUTDOWN'), 0],
    ] as const) {
      vendor.script(waiting);
      const halt = new AbortController();
      const under_way = exchange({ task_id: reason.message }, {}, halt.signal);
      await expect
        .poll(() =>
          vendor.sessions
            .find(({ metadata }) => metadata.perdura_task === reason.message)
            ?.events.some(({ type }) => type === 'session.status_idle'),
        )
        .toBe(true);
      halt.abort(reason);
      await expect(under_way).rejects.toBe(reason);
      expect(vendor.sessions.at(-1)?.events.filter(({ type }) => type === 'user.interrupt')).toHaveLength(interrupts);
    }
  });
});

describe('the events of an exchange', () => {
  const fold = (answered_ids: string[] = []) => {
    const said: string[] = [];
    const folded = foldEvents(
      (delta) => said.push(delta),
      new Set(answered_ids),
      () => {},
    );
    const take = (event: object) => folded.take(event as never, { counts: true });
    return { said, folded, take };
  };
  const says = (id: string, text: string) => ({ id, type: 'agent.message', content: [{ type: 'text', text }] });
  const previews = (event_id: string, text: string) => ({ type: 'event_delta', event_id, delta: { content: { text } } });

  it('count once, from the list and from the stream', () => {
    const { folded, take } = fold();
    for (const event of [says('a', 'One.'), says('a', 'One.'), says('b', 'Two.')]) take(event);
    expect(folded.text()).toBe('One.\n\nTwo.');
  });

  it('are apart in the text from their first preview on', () => {
    const { said, folded, take } = fold();
    for (const event of [says('a', 'One.'), previews('b', 'Tw'), previews('b', 'o.'), says('b', 'Two.'), previews('b', 'late')])
      take(event);
    expect(said).toEqual(['One.', '\n\n', 'Tw', 'o.', '']);
    expect(folded.text()).toBe('One.\n\nTwo.');
  });

  it('ask for the calls that have no answer yet', () => {
    const { take } = fold(['a']);
    for (const id of ['a', 'b']) take({ id, type: 'agent.custom_tool_use', name: `tool ${id}`, input: {} });
    const rest = take({ id: 'c', type: 'session.status_idle', stop_reason: { type: 'requires_action', event_ids: ['a', 'b'] } });
    expect(rest).toEqual({ kind: 'asks', calls: [{ id: 'b', name: 'tool b', arguments: '{}' }] });
  });
});

it('the vendor runs tools and servers itself, unless the run may leave it for another model', async () => {
  const options = { default_runtime: { base_url: 'http://127.0.0.1:9', model: null }, vendor_url: vendor.url, ...DIRECT };
  const server = { id: 's7', name: 'files', transport_type: 'http', connection_config: { url: 'https://mcp.example/' } };
  const run = { provider, tools: [{ kind: 'builtin', name: 'web_search' }], mcp_servers: [{ ...server, allowed_tools: null }] };
  const select = async (more: Partial<Definition>) =>
    (await selectRuntime({ ...run, ...more } as never, caller, options)).vendor_tools;
  expect(await select({})).toEqual({ builtins: ['web_search'], mcp_server_ids: ['s7'] });
  expect(await select({ fallbacks: [{ on: ['quota'], model: 'spare' }] })).toEqual({ builtins: [], mcp_server_ids: [] });
});
