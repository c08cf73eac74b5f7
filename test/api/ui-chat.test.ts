import {
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage,
  validateUIMessages,
} from 'ai';
import { v7 as uuid } from 'uuid';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { breakFirst, openPages, textsOf } from '../support/front-ends/pages.ts';
import type { UiPage } from '../support/front-ends/ui-page.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, breaksOff, fails, hangs, says } from '../support/peers/model-server.ts';
import { toolOf } from '../support/runs/run-facts.ts';
import { until } from '../support/until.ts';

const ADD = 'def add(a: int, b: int) -> int:\n    return a + b\n';
const tools = [
  { name: 'locate', description: 'Locates', parameters: { type: 'object', properties: { a: { type: 'integer' } } } },
];

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation();
});
afterAll(() => here.stop());

const read = (path: string) => here.alice.ok(here.alice.get(path));
async function threadOf(workflow_id: string): Promise<string> {
  return (await here.alice.ok(here.alice.post('/api/threads', { workflow_id }), 201)).id;
}
const remembering = (options: Parameters<TestInstallation['workflow']>[0] = {}) =>
  here.workflow({ ...options, workflow: { remember: 'thread', output_format: 'markdown', ...options?.workflow } });
const newThread = async (options?: Parameters<TestInstallation['workflow']>[0]) => threadOf(await remembering(options));

/** A thread whose agent has a Python tool, which waits for an approval. */
async function guarded() {
  const workflow_id = await remembering({ tools: [ADD] });
  const { agent_id, name } = await toolOf(here, workflow_id);
  await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { approval_tools: [name] }));
  return { thread_id: await threadOf(workflow_id), call: { name, args: { a: 17, b: 25 } } };
}

const approvalOf = (message: UIMessage | undefined) => (message!.parts.at(-1) as { approval: { id: string } }).approval.id;
const turnsOf = async (thread_id: string) => (await read(`/api/tasks?thread_id=${thread_id}`)) as any[];
/** What the scripted model was sent last, without the system prompt. */
const lastLines = () =>
  here.model.requests
    .at(-1)!
    .messages.slice(1)
    .map(({ role, content }) => `${role}: ${content}`);

describe('useChat on a thread', () => {
  it('has turns with their tools and, after it is loaded again, the same messages', async () => {
    const workflow_id = await remembering({ tools: [ADD] });
    const { name } = await toolOf(here, workflow_id);
    const pages = openPages(here, await threadOf(workflow_id));
    here.model.script(asks({ name, args: { a: 17, b: 25 }, text: 'I add.' }), says('It is 42.'), says('You are welcome.'));
    const page = pages.ui();
    await page.sendMessage({ text: 'What is 17 + 25?' });
    await page.sendMessage({ text: 'Thanks.' });
    expect(page.messages.map(({ role, parts }) => [role, parts.map(({ type }) => type)])).toEqual([
      ['user', ['text']],
      ['assistant', ['step-start', 'text', 'dynamic-tool', 'step-start', 'text']],
      ['user', ['text']],
      ['assistant', ['step-start', 'text']],
    ]);
    const history = await pages.history();
    await validateUIMessages({ messages: history });
    const seen = (messages: UIMessage[]) => messages.map(({ role, parts }) => ({ role, parts }));
    expect(seen(history)).toEqual(JSON.parse(JSON.stringify(seen(page.messages))));
    expect(history.map(({ id }) => id).filter((_, index) => index % 2 === 1)).toEqual([
      page.messages[1]!.id,
      page.messages[3]!.id,
    ]);
  });

  it('approves a call, also after it is loaded again while the run waits', async () => {
    const { thread_id, call } = await guarded();
    const pages = openPages(here, thread_id);
    here.model.script(asks({ ...call, text: 'I add.' }), says('It is 42.'));
    await pages.ui().sendMessage({ text: 'What is 17 + 25?' });
    const page = pages.ui({
      messages: await pages.history(),
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    });
    await page.resumeStream();
    expect([page.status, page.lastMessage?.parts.at(-1)]).toMatchObject([
      'ready',
      { state: 'approval-requested', input: call.args },
    ]);
    await page.addToolApprovalResponse({ id: approvalOf(page.lastMessage), approved: true });
    await expect.poll(() => textsOf(page.lastMessage)).toEqual(['I add.', 'It is 42.']);
    await expect.poll(() => page.status).toBe('ready');
    expect(page.messages).toHaveLength(2);
    expect(page.lastMessage?.parts[2]).toMatchObject({ state: 'output-available', output: { result: 42 } });
  });

  it('repeats an approval without harm, and cannot turn it round', async () => {
    const { thread_id, call } = await guarded();
    const pages = openPages(here, thread_id);
    here.model.script(asks(call), says('It is 42.'));
    const page = pages.ui();
    await page.sendMessage({ text: 'What is 17 + 25?' });
    const { id, metadata, parts } = page.lastMessage!;
    const decide = (approved: boolean) => {
      const approval = { id: approvalOf(page.lastMessage), approved };
      const answered = parts.map((part) => ('approval' in part ? { ...part, state: 'approval-responded', approval } : part));
      const body = { messages: [{ id, role: 'assistant', metadata, parts: answered }], messageId: id };
      return fetch(`${pages.url}/ui`, {
        method: 'POST',
        headers: { ...pages.headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    };
    const texts = [await (await decide(true)).text(), await (await decide(true)).text()];
    expect(texts).toEqual([expect.stringContaining('It is 42.'), expect.stringContaining('It is 42.')]);
    const turned = await decide(false);
    expect([turned.status, ((await turned.json()) as { code: string }).code]).toEqual([409, 'nothing_to_decide']);
  });

  it.each([
    ['its result', { output: { city: 'Rome' } }, '{"city":"Rome"}'],
    ['that it failed', { state: 'output-error', errorText: 'No signal' }, 'No signal'],
  ])('executes a call itself, and sends %s', async (_, output, sent) => {
    const pages = openPages(here, await newThread());
    here.model.script(asks({ name: 'locate', args: { a: 7 } }), says('So that is where you are.'));
    const page: UiPage = pages.ui(
      {
        sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
        onToolCall: ({ toolCall: { toolCallId } }) =>
          void page.addToolOutput({ tool: 'locate', toolCallId, ...output } as Parameters<typeof page.addToolOutput>[0]),
      },
      { body: { tools } },
    );
    await page.sendMessage({ text: 'Where am I?' });
    await expect.poll(() => textsOf(page.lastMessage)).toEqual(['So that is where you are.']);
    expect(here.model.requests.at(-1)!.messages.at(-1)!.content).toContain(sent);
  });

  it('shows a text once that the model began twice', async () => {
    here.model.script(breaksOff('Half an'), says('A whole answer.'));
    const page = openPages(here, await newThread()).ui();
    await page.sendMessage({ text: 'Answer.' });
    expect([page.status, textsOf(page.lastMessage)]).toEqual(['ready', ['A whole answer.']]);
  });

  it('has the whole answer once after its connection broke', async () => {
    here.model.script(says('One two three four five six.'));
    const page = openPages(here, await newThread()).ui({}, { fetch: breakFirst(4) });
    await page.sendMessage({ text: 'Count.' });
    expect(page.status).toBe('error');
    await page.resumeStream();
    expect([page.status, textsOf(page.lastMessage)]).toEqual(['ready', ['One two three four five six.']]);
    expect(page.messages).toHaveLength(2);
  });

  it('shows why a run failed', async () => {
    here.model.script(fails(400, { message: 'This model has no opinion' }));
    const page = openPages(here, await newThread()).ui();
    await page.sendMessage({ text: 'Answer.' });
    expect(page.error?.message).toContain('This model has no opinion');
  });

  it('sends files within the message, and gets their addresses', async () => {
    here.model.script(says('Seventeen.'));
    const pages = openPages(here, await newThread());
    const url = `data:text/plain;base64,${Buffer.from('seventeen').toString('base64')}`;
    await pages.ui().sendMessage({ text: 'Read.', files: [{ type: 'file', filename: 'a.txt', mediaType: 'text/plain', url }] });
    expect(lastLines()).toEqual(['user: Read.\n\n<file name="a.txt">\nseventeen\n</file>']);
    const [file] = (await pages.history())[0]!.parts as { type: string; filename: string; url: string }[];
    expect(file).toMatchObject({ type: 'file', filename: 'a.txt' });
    expect(await (await fetch(`${here.url}${file!.url}`, { headers: pages.headers })).text()).toBe('seventeen');
  });
});

describe('useChat', () => {
  /** A page with two turns. */
  async function talk() {
    const thread_id = await newThread();
    const pages = openPages(here, thread_id);
    here.model.script(says('Two.'), says('Five.'));
    const page = pages.ui();
    await page.sendMessage({ text: 'A prime?' });
    await page.sendMessage({ text: 'Another?' });
    return { thread_id, pages, page };
  }

  it('answers again: another turn in place of the last, with the same turns before it', async () => {
    const { thread_id, page } = await talk();
    here.model.script(says('Seven.'));
    await page.regenerate();
    expect(page.messages.flatMap(textsOf)).toEqual(['A prime?', 'Two.', 'Another?', 'Seven.']);
    expect(lastLines()).toEqual(['user: A prime?', 'assistant: Two.', 'user: Another?']);
    const [again, second] = await turnsOf(thread_id);
    expect(again).toMatchObject({
      previous_task_id: second.previous_task_id,
      forked_from: { task_id: second.id, effects: 'recorded' },
    });
  });

  it.each([
    ['that it has sent', false],
    ['that it has loaded', true],
  ])('edits a message %s: what followed it is on another branch', async (_, is_loaded) => {
    const { thread_id, pages, page } = await talk();
    const used = is_loaded ? pages.ui({ messages: await pages.history() }) : page;
    here.model.script(says('Eleven.'), says('Thirteen.'));
    await used.sendMessage({ text: 'One above ten?', messageId: used.messages[2]!.id });
    await used.sendMessage({ text: 'The next?' });
    expect(lastLines()).toEqual([
      ...['user: A prime?', 'assistant: Two.', 'user: One above ten?', 'assistant: Eleven.', 'user: The next?'],
    ]);
    expect((await pages.history()).flatMap(textsOf)).toEqual([
      ...['A prime?', 'Two.', 'One above ten?', 'Eleven.', 'The next?', 'Thirteen.'],
    ]);
    expect((await turnsOf(thread_id)).map(({ thread_turn }) => thread_turn)).toEqual([3, 2, 2, 1]);
  });

  it('answers again a message whose turn never began, by sending it again', async () => {
    const { thread_id, pages } = await talk();
    const before = here.model.requests.length;
    here.model.script(hangs('Slowly'));
    const [slow, waits] = [pages.ui(), pages.ui()];
    const sent = slow.sendMessage({ text: 'Slowly?' });
    await until('its model is asked', async () => here.model.requests.length > before);
    const queued = waits.sendMessage({ text: 'And then?' });
    await until('the next one waits', async () => (await turnsOf(thread_id)).length === 4);
    for (const { id } of (await turnsOf(thread_id)).slice(0, 2)) await here.alice.ok(here.alice.post(`/api/tasks/${id}/stop`));
    await Promise.all([sent, queued]);
    here.model.script(says('Then eleven.'));
    await waits.regenerate();
    expect(waits.messages.flatMap(textsOf)).toEqual(['And then?', 'Then eleven.']);
    const [again, never] = await turnsOf(thread_id);
    expect([never.steps, again.forked_from, again.previous_task_id]).toEqual([0, null, never.previous_task_id]);
  });

  it('is refused to edit one of several messages that is not known', async () => {
    const { thread_id, pages, page } = await talk();
    const unknown = pages.ui({ messages: [page.messages[2]!] });
    await unknown.sendMessage({ text: 'x', messageId: page.messages[2]!.id });
    expect(unknown.error?.message).toContain('No message of this thread has the id');
    expect(await turnsOf(thread_id)).toHaveLength(2);
  });

  it('sends one turn for a request that is repeated with its key', async () => {
    const thread_id = await newThread();
    const { url, headers } = openPages(here, thread_id);
    here.model.script(says('Once.'));
    const request = {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', 'idempotency-key': here.unique('key') },
      body: JSON.stringify({ messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'x' }] }] }),
    };
    const texts = [await (await fetch(`${url}/ui`, request)).text(), await (await fetch(`${url}/ui`, request)).text()];
    expect(texts).toEqual([expect.stringContaining('Once.'), expect.stringContaining('Once.')]);
    expect(await turnsOf(thread_id)).toHaveLength(1);
  });

  it('begins with the newest turns, as many as it asks for', async () => {
    const { thread_id, pages } = await talk();
    const read = async (turns: number) => here.alice.get(`/api/threads/${thread_id}/ui/messages?turns=${turns}`);
    const texts = async (turns: number) => ((await read(turns)).body as UIMessage[]).flatMap(textsOf);
    expect([await texts(1), await texts(2), await texts(3)]).toEqual([
      ['Another?', 'Five.'],
      ['A prime?', 'Two.', 'Another?', 'Five.'],
      ['A prime?', 'Two.', 'Another?', 'Five.'],
    ]);
    expect([(await read(0)).status, (await read(201)).status, (await pages.history()).length]).toEqual([422, 422, 4]);
  });

  it('resumes nothing in a thread without a turn, and where an answer is old or known to its end', async () => {
    const { thread_id, pages } = await talk();
    const resume = async (id: string, more = {}) =>
      (await fetch(`${here.url}/api/threads/${id}/ui`, { headers: { ...pages.headers, ...more } })).status;
    const [second] = await turnsOf(thread_id);
    const [{ last }] = await here.sql('SELECT max(seq) AS last FROM events WHERE task_id = $1', second.id);
    expect([
      await resume(await newThread()),
      await resume(thread_id),
      await resume(thread_id, { 'last-event-id': String(last - 1) }),
      await resume(thread_id, { 'last-event-id': String(last) }),
    ]).toEqual([204, 200, 200, 204]);
    await here.sql(`UPDATE tasks SET completed_at = now() - interval '299 seconds' WHERE id = $1`, second.id);
    expect(await resume(thread_id)).toBe(200);
    await here.sql(`UPDATE tasks SET completed_at = now() - interval '301 seconds' WHERE id = $1`, second.id);
    expect(await resume(thread_id)).toBe(204);
  });

  it('follows an answer in progress in a second page, from its beginning', async () => {
    const thread_id = await newThread();
    const pages = openPages(here, thread_id);
    const before = here.model.requests.length;
    here.model.script(hangs('Half of it'));
    const first = pages.ui();
    const sent = first.sendMessage({ text: 'Slowly?' });
    await until('its model is asked', async () => here.model.requests.length > before);
    const second = pages.ui();
    const resumed = second.resumeStream();
    await expect.poll(() => textsOf(second.lastMessage)).toEqual(['Half of it']);
    const [{ id }] = await turnsOf(thread_id);
    await here.alice.ok(here.alice.post(`/api/tasks/${id}/stop`));
    await Promise.all([sent, resumed]);
    expect([textsOf(first.lastMessage), textsOf(second.lastMessage)]).toEqual([['Half of it'], ['Half of it']]);
  });
});

describe('the doors of a thread', () => {
  it('are closed to others, and 404 for a thread that does not exist', async () => {
    const { thread_id, call } = await guarded();
    here.model.script(asks(call));
    const page = openPages(here, thread_id).ui();
    await page.sendMessage({ text: 'What is 17 + 25?' });
    const message = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'x' }] };
    const doors = (id: string) => [
      here.bob.post(`/api/threads/${id}/ui`, { messages: [message] }),
      here.bob.get(`/api/threads/${id}/ui`),
      here.bob.get(`/api/threads/${id}/ui/any/stream`),
      here.bob.get(`/api/threads/${id}/ui/messages`),
      here.bob.post(`/api/threads/${id}/ag-ui`, {
        threadId: 't',
        runId: 'r',
        messages: [{ id: 'm', role: 'user', content: 'x' }],
      }),
      here.bob.get(`/api/threads/${id}/ag-ui`),
    ];
    const statusesOf = async (id: string) => (await Promise.all(doors(id))).map(({ status }) => status);
    expect(await statusesOf(thread_id)).toEqual([403, 403, 403, 403, 403, 403]);
    expect(await statusesOf(uuid())).toEqual([404, 404, 404, 404, 404, 404]);
    expect(await turnsOf(thread_id)).toMatchObject([{ status: 'waiting' }]);
    // A second person decides about nothing of it in their own thread either; nor does its owner through another thread.
    const own = await here.bob.ok(here.bob.post('/api/threads', { agent_id: await here.agent() }), 201);
    const answered = { ...page.lastMessage!, parts: page.lastMessage!.parts.map((part) => answer(part)) };
    const decide = { messages: [answered], messageId: answered.id };
    expect((await here.bob.post(`/api/threads/${own.id}/ui`, decide)).status).toBe(403);
    expect((await here.alice.post(`/api/threads/${await newThread()}/ui`, decide)).status).toBe(403);
    expect(await turnsOf(thread_id)).toMatchObject([{ status: 'waiting' }]);
    await here.alice.ok(here.alice.post(`/api/tasks/${answered.id}/stop`));
  });
});

const answer = (part: UIMessage['parts'][number]) =>
  'approval' in part && part.approval
    ? { ...part, state: 'approval-responded', approval: { ...part.approval, approved: true } }
    : part;
