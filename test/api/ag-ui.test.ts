import { buildResumeArray, type HttpAgent } from '@ag-ui/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openPages } from '../support/front-ends/pages.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { toolOf } from '../support/runs/run-facts.ts';

const ADD = 'def add(a: int, b: int) -> int:\n    return a + b\n';
const LOCATE = { name: 'locate', description: 'Locates', parameters: { type: 'object', properties: { a: { type: 'integer' } } } };

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation();
});
afterAll(() => here.stop());

const threadOf = async (workflow_id: string): Promise<string> =>
  (await here.alice.ok(here.alice.post('/api/threads', { workflow_id }), 201)).id;
const remembering = (options: Parameters<TestInstallation['workflow']>[0] = {}) =>
  here.workflow({ ...options, workflow: { remember: 'thread', output_format: 'markdown' } });
const pagesOfNew = async () => openPages(here, await threadOf(await remembering()));
const say = (page: HttpAgent, content: string) => {
  page.addMessage({ id: crypto.randomUUID(), role: 'user', content });
  return page.runAgent();
};
const linesOf = ({ messages }: Pick<HttpAgent, 'messages'>) => messages.map(({ role, content }) => `${role}: ${content}`);
const ids = ({ messages }: Pick<HttpAgent, 'messages'>) => messages.map(({ id }) => id);

describe('an AG-UI client on a thread', () => {
  it('has turns, and the same answers when it connects again', async () => {
    const pages = await pagesOfNew();
    here.model.script(says('Two.'), says('Five.'));
    const page = pages.agUi();
    await say(page, 'A prime?');
    await say(page, 'Another?');
    const lines = ['user: A prime?', 'assistant: Two.', 'user: Another?', 'assistant: Five.'];
    expect(linesOf(page)).toEqual(lines);
    const events = await pages.connect();
    expect(events.map(({ type }) => type)).toEqual(['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED']);
    expect(linesOf(events[1])).toEqual(lines);
    expect([ids(events[1])[1], ids(events[1])[3]]).toEqual([ids(page)[1], ids(page)[3]]);
  });

  it('connects to a thread without a turn', async () => {
    const pages = await pagesOfNew();
    expect(await pages.connect()).toMatchObject([
      { type: 'RUN_STARTED' },
      { type: 'MESSAGES_SNAPSHOT', messages: [] },
      { type: 'RUN_FINISHED', outcome: { type: 'success' } },
    ]);
  });

  it('answers an interrupt, after it has connected again', async () => {
    const workflow_id = await remembering({ tools: [ADD] });
    const { agent_id, name } = await toolOf(here, workflow_id);
    await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { approval_tools: [name] }));
    here.model.script(asks({ name, args: { a: 17, b: 25 }, text: 'I add.' }), says('It is 42.'));
    const pages = openPages(here, await threadOf(workflow_id));
    const page = pages.agUi();
    await say(page, 'What is 17 + 25?');
    const [interrupt] = page.pendingInterrupts;
    const connected = await pages.connect();
    expect(connected.at(-1)).toMatchObject({ outcome: { type: 'interrupt', interrupts: [{ id: interrupt!.id }] } });
    const responses = { [interrupt!.id]: { status: 'resolved' as const, payload: { approved: true } } };
    const resume = buildResumeArray(page.pendingInterrupts, responses);
    const made_again: string[] = [];
    await page.runAgent({ resume }, { onToolCallStartEvent: ({ event }) => void made_again.push(event.toolCallId) });
    expect([made_again, page.pendingInterrupts]).toEqual([[], []]);
    expect(linesOf(page)).toEqual([
      'user: What is 17 + 25?',
      'assistant: I add.',
      'tool: {"result": 42}',
      'assistant: It is 42.',
    ]);
  });

  it('executes a call itself, and sends its result', async () => {
    const page = (await pagesOfNew()).agUi();
    here.model.script(asks({ name: 'locate', args: { a: 7 } }), says('You are in Rome.'));
    page.addMessage({ id: 'm1', role: 'user', content: 'Where am I?' });
    const pending: string[] = [];
    await page.runAgent(
      { tools: [LOCATE] },
      { onRunFinishedEvent: ({ event }) => void pending.push(...((event.outcome as any).pendingToolCallIds as string[])) },
    );
    expect(pending).toHaveLength(1);
    page.addMessage({ id: 'r1', role: 'tool', toolCallId: pending[0]!, content: 'Rome' });
    await page.runAgent({ tools: [LOCATE] });
    expect(page.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'You are in Rome.' });
  });

  it.each([
    ['another text', 'A larger prime?', ['user: A larger prime?', 'assistant: Seven.'], 'live'],
    ['its text', 'A prime?', ['user: A prime?', 'assistant: Seven.'], 'recorded'],
  ])('sends a message of a snapshot with %s: another turn in its place', async (_, content, lines, effects) => {
    const pages = await pagesOfNew();
    here.model.script(says('Two.'), says('Seven.'));
    await say(pages.agUi(), 'A prime?');
    const [, { messages }] = await pages.connect();
    const page = pages.agUi();
    page.setMessages([{ ...messages[0], content }]);
    await page.runAgent();
    const events = await pages.connect();
    expect(linesOf(events[1])).toEqual(lines);
    const thread_id = pages.url.split('/').at(-1);
    const [again, first] = (await here.alice.ok(here.alice.get(`/api/tasks?thread_id=${thread_id}`))) as any[];
    expect(again).toMatchObject({ thread_turn: 1, forked_from: { task_id: first.id, effects } });
  });

  it('gives the agent what the page knows, and is warned of what is not used', async () => {
    const pages = await pagesOfNew();
    here.model.script(says('Noted.'));
    const input = {
      ...{ threadId: 't', runId: 'r', messages: [{ id: 'm1', role: 'user', content: 'Look.' }], state: { page: 7 }, tools: [] },
      context: [{ description: 'The order in view', value: '4711' }],
    };
    const answer = await fetch(`${pages.url}/ag-ui`, {
      method: 'POST',
      headers: { ...pages.headers, 'content-type': 'application/json' },
      body: JSON.stringify(input),
    });
    expect(await answer.text()).toContain('"threadId":"t","runId":"r"');
    expect(answer.headers.get('x-warnings')).toContain('`state` is not used');
    expect(here.model.requests.at(-1)!.messages.at(-1)!.content).toBe(
      'Look.\n\n<context name="The order in view">\n4711\n</context>',
    );
  });
});
