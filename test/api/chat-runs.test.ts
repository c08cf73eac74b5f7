import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventOf, framesIn } from '../support/client.ts';
import { ALICE, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, breaksOff, says } from '../support/peers/model-server.ts';
import { chatPath, startHangingReply } from '../support/runs/hanging-reply.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
let provider_id: string;
beforeAll(async () => {
  here = await startTestInstallation();
  const values = { name: 'scripted', provider_type: 'openai_compatible', base_url: here.model.url, default_model: 'scripted' };
  provider_id = (await here.alice.ok(here.alice.post('/api/providers', values))).id;
});
afterAll(() => here?.stop());

const TOOL = 'manage_todo_list';
const call = (text: string) => asks({ name: TOOL, args: { todoList: [{ id: '1', title: 'Look', status: 'done' }] }, text });
const agent = (more: object = {}) => here.agent({ provider_id, builtin_tools: [TOOL], ...more });
const eventsIn = (stream: unknown) => framesIn(String(stream)).map(eventOf) as any[];
const textOf = (events: any[]) => events.map(({ type, content }) => (type === 'delta' ? content : '')).join('');
const ask = async (agent_id: string, body: object) => eventsIn((await here.alice.post(chatPath(agent_id), body)).body);
const sessionPath = (agent_id: string, [{ session_id }]: any[]) => `${chatPath(agent_id)}/sessions/${session_id}`;
const read = (path: string) => here.alice.ok(here.alice.get(path));
const toolsSent = () => (here.model.requests.at(-1) as any).tools?.map(({ function: { name } }: any) => name);

describe('a chat message is a run', () => {
  it('with the tools of its agent, whose calls the next message knows, and which `tools: false` switches off', async () => {
    const agent_id = await agent();
    here.model.script(call('Let me see.'), says('Done.'), says('Nothing more.'));
    const events = await ask(agent_id, { message: 'What is there to do?' });
    expect(toolsSent()).toEqual([TOOL]);
    expect(textOf(events)).toBe('Let me see.\n\nDone.');
    expect(events.at(-1)).toMatchObject({ type: 'done', usage: { prompt_tokens: 20, completion_tokens: 10 } });
    expect(events.at(-1)).not.toHaveProperty('content');
    const { messages } = await read(sessionPath(agent_id, events));
    expect(messages).toMatchObject([{ role: 'user' }, { content: 'Let me see.\n\nDone.', usage: { prompt_tokens: 20 } }]);
    const task = await read(`/api/tasks/${messages[0].id}`);
    expect(task).toMatchObject({ trigger: 'chat', thread_id: events[0].session_id, status: 'completed' });
    await ask(agent_id, { message: 'And now?', session_id: events[0].session_id, tools: false });
    expect(toolsSent()).toBeUndefined();
    expect(
      here.model.requests
        .at(-1)!
        .messages.map(({ role }) => role)
        .filter((role) => role !== 'system'),
    ).toEqual([...['user', 'assistant', 'tool', 'assistant', 'user']]);
  });

  it('which waits for an approval with its stream open', async () => {
    const agent_id = await agent({ approval_tools: [TOOL] });
    here.model.script(call('May I?'), says('Thank you.'));
    let has_ended = false;
    const streamed = ask(agent_id, { message: 'Do it.' }).finally(() => (has_ended = true));
    const [{ id: session_id }] = (await until('the session', async () => {
      const sessions = (await read(`${chatPath(agent_id)}/sessions`)) as any;
      return sessions.length > 0 && sessions;
    })) as any;
    const path = `${chatPath(agent_id)}/sessions/${session_id}`;
    const { reply } = await until('the question', async () => {
      const session = await read(path);
      const task = await read(`/api/tasks/${session.messages[0].id}`);
      return task.status === 'waiting' && session;
    });
    expect(reply).toMatchObject({ content: 'May I?' });
    expect(has_ended).toBe(false);
    const decision = await here.alice.post(`/api/tasks/${reply.question_id}/approvals/1-1`, { decision: 'approve' });
    expect(decision.status).toBe(200);
    const events = await streamed;
    expect([textOf(events), events.at(-1).type]).toEqual(['May I?\n\nThank you.', 'done']);
    expect(await read(path)).toMatchObject({ reply: null, message_count: 2 });
  });

  it('whose usage is counted for its trigger', async () => {
    const agent_id = await agent();
    here.model.script(says('Counted.', { usage: { prompt_tokens: 10_007, completion_tokens: 13 } }));
    await ask(agent_id, { message: 'Count.' });
    const by_trigger = async () => (await read('/api/usage?by=trigger')).rows.find(({ key }: any) => key === 'chat');
    const row = await until('the usage', async () => {
      const found = await by_trigger();
      return found?.total_in > 10_000 && found;
    });
    expect(row.total_in).toBeGreaterThanOrEqual(10_007);
  });
});

describe('the stream of a reply', () => {
  it('is the same for anyone who reads it later, from any event on', async () => {
    const agent_id = await agent();
    here.model.script(call('One two three.'), says('Four five six seven.', { pause_ms: 60 }));
    const events = await ask(agent_id, { message: 'Count.' });
    const path = sessionPath(agent_id, events);
    const question_id = (await read(path)).messages[0].id;
    const follow = (seen: number) => here.alice.get(`${path}/stream`, { 'last-event-id': String(seen) });
    expect(events.length).toBeGreaterThan(4);
    expect(eventsIn((await here.alice.get(`${path}/stream?question_id=${question_id}`)).body)).toEqual(events);
    expect(eventsIn((await follow(1)).body)).toEqual(events.slice(1));
    expect(eventsIn((await follow(events.length - 1)).body)).toEqual(events.slice(-1));
    expect((await follow(events.length)).status).toBe(204);
    expect((await here.alice.get(`${path}/stream`)).status).toBe(204);
  });

  it('has the whole text when its pieces are gone, and refuses a number that it no longer understands', async () => {
    const agent_id = await agent();
    here.model.script(says('One two three four.', { pause_ms: 60 }));
    const events = await ask(agent_id, { message: 'Count.' });
    const path = sessionPath(agent_id, events);
    const question_id = (await read(path)).messages[0].id;
    const stream = `${path}/stream?question_id=${question_id}`;
    await here.sql(`DELETE FROM events WHERE task_id = $1 AND type = 'message_delta'`, question_id);
    const age = (time: string) =>
      here.sql(`UPDATE tasks SET completed_at = now() - $2::interval WHERE id = $1`, question_id, time);
    await age('23 hours');
    expect(textOf(eventsIn((await here.alice.get(stream)).body))).toBe('One two three four.');
    await age('25 hours');
    expect(eventsIn((await here.alice.get(stream)).body).at(-1)).toMatchObject({ type: 'done' });
    expect(eventsIn((await here.alice.get(stream, { 'last-event-id': '2' })).body)).toEqual([
      { id: 3, type: 'error', message: expect.stringContaining('read the session') },
    ]);
  });

  it('gives the whole text at its end if the deltas do not make it up', async () => {
    const agent_id = await agent();
    here.model.script(breaksOff('A first begin'), says('Something else.'));
    const events = await ask(agent_id, { message: 'Try.' });
    expect(textOf(events)).toBe('A first begin\n\nSomething else.');
    expect(events.at(-1)).toMatchObject({ type: 'done', content: 'Something else.' });
    const { messages } = await read(sessionPath(agent_id, events));
    expect(messages[1].content).toBe('Something else.');
  });

  it('is of a message of this session, or 404', async () => {
    const agent_id = await agent();
    here.model.always(says('ok'));
    const [one, other] = [await ask(agent_id, { message: 'a' }), await ask(agent_id, { message: 'b' })];
    const foreign_id = (await read(sessionPath(agent_id, other))).messages[0].id;
    const { status } = await here.alice.get(`${sessionPath(agent_id, one)}/stream?question_id=${foreign_id}`);
    expect(status).toBe(404);
  });
});

it('a thread of a workflow is not a chat session, and a thread with an agent is one', async () => {
  const agent_id = await agent();
  const workflow = await here.alice.ok(here.alice.post('/api/workflows', { agent_id, remember: 'thread' }), 201);
  const of_workflow = await here.alice.ok(here.alice.post('/api/threads', { workflow_id: workflow.id }), 201);
  const of_agent = await here.alice.ok(here.alice.post('/api/threads', { agent_id }), 201);
  expect(await read(`${chatPath(agent_id)}/sessions`)).toMatchObject([{ id: of_agent.id, title: '', message_count: 0 }]);
  const refused = await here.alice.post(chatPath(agent_id), { message: 'Hi.', session_id: of_workflow.id });
  expect(refused.status).toBe(404);
  here.model.script(says('Hello.'));
  const events = await ask(agent_id, { message: 'Hi there.', session_id: of_agent.id });
  expect(textOf(events)).toBe('Hello.');
  expect(await read(sessionPath(agent_id, events))).toMatchObject({ title: 'Hi there.', message_count: 2 });
});

it('an agent is deleted with the chats of every person, and their replies are halted', async () => {
  const agent_id = await agent();
  here.model.script(says('Hello, Bob.'));
  await here.bob.post(chatPath(agent_id), { message: 'Hi.' });
  const aborted = here.model.aborted();
  const { stop } = await startHangingReply(here, { agent_id, said: 'A beginning', client: here.alice, token: ALICE });
  expect((await here.alice.del(`/api/agents/${agent_id}`)).status).toBe(204);
  await until('the end of the request', async () => here.model.aborted() === aborted + 1);
  expect((await here.alice.get(stop.replace('/stop', ''))).status).toBe(404);
  expect(await here.sql('SELECT 1 FROM workflows WHERE agent_id = $1', agent_id)).toEqual([]);
  expect(await here.sql('SELECT id FROM tasks WHERE agent_id = $1', agent_id)).toEqual([]);
});
