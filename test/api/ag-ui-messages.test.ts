import { buildResumeArray, type HttpAgent } from '@ag-ui/client';
import { v7 as uuid } from 'uuid';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openPages } from '../support/front-ends/pages.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { toolOf } from '../support/runs/run-facts.ts';
import { until } from '../support/until.ts';

const ADD = 'def add(a: int, b: int) -> int:\n    return a + b\n';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation();
});
afterAll(() => here.stop());

const read = (path: string) => here.alice.ok(here.alice.get(path));
async function newThread(options: Parameters<TestInstallation['workflow']>[0] = {}) {
  const workflow_id = await here.workflow({ ...options, workflow: { remember: 'thread', output_format: 'markdown' } });
  const { id } = await here.alice.ok(here.alice.post('/api/threads', { workflow_id }), 201);
  return { thread_id: id as string, workflow_id, pages: openPages(here, id) };
}
const turnsOf = async (thread_id: string) => (await read(`/api/tasks?thread_id=${thread_id}`)) as any[];
const messagesOf = async (thread_id: string) => (await read(`/api/threads/${thread_id}/messages`)) as any[];
const user = (content: string) => ({ id: crypto.randomUUID(), role: 'user' as const, content });
const say = (page: HttpAgent, content: string, forwardedProps: object = {}, subscriber = {}) => {
  page.addMessage(user(content));
  return page.runAgent({ forwardedProps }, subscriber);
};
const linesOf = ({ messages }: Pick<HttpAgent, 'messages'>) => messages.map(({ role, content }) => `${role}: ${content}`);
/** What the scripted model was sent last, without the system prompt. */
const lastLines = () =>
  here.model.requests
    .at(-1)!
    .messages.slice(1)
    .map(({ role, content }) => `${role}: ${content}`);

describe('a message of an AG-UI client while a turn is in progress', () => {
  it('with steer is read by the turn, whose stream continues in the request, and stands where it was read', async () => {
    const { thread_id, pages } = await newThread();
    const { promise, resolve: finish } = Promise.withResolvers<void>();
    const before = here.model.requests.length;
    here.model.script(says('Five. And', { until: promise }), says('Cinq.'));
    const page = pages.agUi();
    const first = say(page, 'Two and three?');
    await until('its answer begins', async () => linesOf(page).length === 2 && here.model.requests.length > before);
    await page.detachActiveRun();
    await first;
    const receipts: any[] = [];
    const onCustomEvent = ({ event }: { event: any }) => void (event.name === 'perdura.receipt' && receipts.push(event.value));
    const steer = say(page, 'In French.', { when_busy: 'steer' }, { onCustomEvent });
    const sent_as = page.messages.at(-1)!.id;
    await until('it waits', async () => receipts.length > 0);
    expect(linesOf(page).slice(0, 2)).toEqual(['user: Two and three?', expect.stringMatching(/^assistant: Five\./)]);
    finish();
    await steer;
    expect(linesOf(page)).toEqual(['user: Two and three?', 'assistant: Five. And', 'user: In French.', 'assistant: Cinq.']);
    const [message] = await messagesOf(thread_id);
    expect(message).toMatchObject({ state: 'steered', when_busy: 'steer', step: 2 });
    const known = { message_id: message.id, task_id: message.task_id, sent_as };
    expect(receipts).toEqual([
      { ...known, state: 'pending', step: null },
      { ...known, state: 'steered', step: 2 },
    ]);
    const events = await pages.connect();
    expect(linesOf(events.find(({ type }) => type === 'MESSAGES_SNAPSHOT'))).toEqual(linesOf(page));
  });

  it('is refused if the page asks for something else, and warned of every other forwarded property', async () => {
    const { pages } = await newThread();
    const post = (forwardedProps: object) =>
      fetch(`${pages.url}/ag-ui`, {
        method: 'POST',
        headers: { ...pages.headers, 'content-type': 'application/json' },
        body: JSON.stringify({ threadId: 't', runId: 'r', messages: [user('A prime?')], forwardedProps }),
      });
    const refused = await post({ when_busy: 'later' });
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { errors: [{ path: 'forwardedProps.when_busy', message: 'Send one of enqueue, steer, interrupt, fork, reject' }] },
    ]);
    here.model.script(says('Two.'));
    const warned = await post({ when_busy: 'steer', colour: 'red' });
    expect(await warned.text()).toContain('RUN_FINISHED');
    expect(JSON.parse(warned.headers.get('x-warnings')!)).toEqual([
      { path: 'forwardedProps.colour', message: '`forwardedProps.colour` is not used' },
    ]);
  });
});

describe('an answer to an interrupt', () => {
  /** A page whose run waits for an approval. */
  async function interrupted() {
    const { thread_id, workflow_id, pages } = await newThread({ tools: [ADD] });
    const { agent_id, name } = await toolOf(here, workflow_id);
    await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { approval_tools: [name] }));
    here.model.script(asks({ name, args: { a: 17, b: 25 } }), says('It is 42.'));
    const page = pages.agUi();
    await say(page, 'What is 17 + 25?');
    const errors: any[] = [];
    const answer = (resume: object[]) =>
      page.runAgent(
        { resume: resume as never },
        { onRunErrorEvent: ({ event: { message, code } }) => void errors.push([message, code]) },
      );
    const decide = (payload: object) =>
      answer(buildResumeArray(page.pendingInterrupts, { [page.pendingInterrupts[0]!.id]: { status: 'resolved', payload } }));
    return { thread_id, pages, page, errors, answer, decide };
  }

  it('that does not fit ends the run with an error with its reason, and the page can answer again', async () => {
    const { thread_id, page, errors, decide } = await interrupted();
    await decide({});
    expect(errors).toEqual([['Send `approved`, which is true or false', 'invalid_message']]);
    expect(await turnsOf(thread_id)).toMatchObject([{ status: 'waiting' }]);
    await decide({ approved: true });
    expect([errors.length, linesOf(page).at(-1)]).toEqual([1, 'assistant: It is 42.']);
  });

  it('that was decided otherwise, or about what is not asked, is such an error, too', async () => {
    const { page, errors, answer, decide } = await interrupted();
    const { id } = page.pendingInterrupts[0]!;
    await decide({ approved: true });
    const approve = (interruptId: string, approved: boolean) =>
      answer([{ interruptId, status: 'resolved', payload: { approved } }]);
    await approve(id, true);
    await approve(id, false);
    await approve(id.replace('1-1', '1-7'), true);
    await approve('i7', true);
    const task_id = id.slice('call_'.length, 'call_'.length + 36);
    const unknown = uuid();
    await approve(id.replace(task_id, unknown), true);
    expect(errors).toEqual([
      ['The call 1-1 of this task is not waiting for this decision', 'nothing_to_decide'],
      ['No tool call of this task with id 1-7', 'not_found'],
      ['No interrupt with id i7', 'invalid_message'],
      [expect.stringContaining(unknown), 'not_found'],
    ]);
  });

  it('of another person, or in a thread that is unknown, is refused before the stream', async () => {
    const { thread_id, page, decide } = await interrupted();
    const input = {
      ...{ threadId: 't', runId: 'r', messages: [] },
      resume: [{ interruptId: page.pendingInterrupts[0]!.id, status: 'resolved', payload: { approved: true } }],
    };
    const own = await here.bob.ok(here.bob.post('/api/threads', { agent_id: await here.agent() }), 201);
    expect((await here.bob.post(`/api/threads/${thread_id}/ag-ui`, input)).status).toBe(403);
    expect((await here.bob.post(`/api/threads/${own.id}/ag-ui`, input)).status).toBe(403);
    expect((await here.alice.post(`/api/threads/${uuid()}/ag-ui`, input)).status).toBe(404);
    expect(await turnsOf(thread_id)).toMatchObject([{ status: 'waiting' }]);
    await decide({ approved: true });
    expect(linesOf(page).at(-1)).toBe('assistant: It is 42.');
  });
});

describe('a message in place of another one, in the page that has sent it', () => {
  /** A page with two turns. */
  async function talk() {
    const { thread_id, pages } = await newThread();
    here.model.script(says('Two.'), says('Five.'));
    const page = pages.agUi();
    await say(page, 'A prime?');
    await say(page, 'Another?');
    return { thread_id, pages, page };
  }

  it('is another turn after the answer before it', async () => {
    const { thread_id, pages, page } = await talk();
    page.setMessages(page.messages.slice(0, 2));
    here.model.script(says('Eleven.'), says('Thirteen.'));
    await say(page, 'One above ten?');
    await say(page, 'The next?');
    const lines = ['user: A prime?', 'assistant: Two.', 'user: One above ten?', 'assistant: Eleven.', 'user: The next?'];
    expect(lastLines()).toEqual(lines);
    expect(linesOf(page)).toEqual([...lines, 'assistant: Thirteen.']);
    expect(linesOf((await pages.connect())[1])).toEqual(linesOf(page));
    const turns = await turnsOf(thread_id);
    expect(turns.map(({ thread_turn }) => thread_turn)).toEqual([3, 2, 2, 1]);
    expect(turns[1].forked_from).toMatchObject({ task_id: turns[2].id, effects: 'live' });
  });

  it('with its text and its id is another answer', async () => {
    const { thread_id, page } = await talk();
    page.setMessages(page.messages.slice(0, 3));
    here.model.script(says('Seven.'));
    await page.runAgent();
    expect(linesOf(page)).toEqual(['user: A prime?', 'assistant: Two.', 'user: Another?', 'assistant: Seven.']);
    const turns = await turnsOf(thread_id);
    expect([turns.length, turns[0].forked_from]).toMatchObject([3, { task_id: turns[1].id, effects: 'recorded' }]);
  });

  it('is the next turn, if a message stands before it that has no answer yet', async () => {
    const { thread_id, page } = await talk();
    page.setMessages([...page.messages.slice(0, 2), { ...user('Another?'), id: 'm3' }, user('And then?')]);
    here.model.script(says('Seven.'));
    await page.runAgent();
    expect(lastLines()).toEqual(['user: A prime?', 'assistant: Two.', 'user: Another?', 'assistant: Five.', 'user: And then?']);
    expect((await turnsOf(thread_id))[0]).toMatchObject({ thread_turn: 3, forked_from: null });
  });
});
