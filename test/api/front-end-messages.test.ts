import { lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from 'ai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openPages, textsOf } from '../support/front-ends/pages.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, fails, says } from '../support/peers/model-server.ts';
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
  const workflow = { remember: 'thread', output_format: 'markdown', ...options?.workflow };
  const workflow_id = await here.workflow({ ...options, workflow });
  const { id } = await here.alice.ok(here.alice.post('/api/threads', { workflow_id }), 201);
  return { thread_id: id as string, workflow_id, pages: openPages(here, id) };
}
const turnsOf = async (thread_id: string) => (await read(`/api/tasks?thread_id=${thread_id}`)) as any[];
const messagesOf = async (thread_id: string) => (await read(`/api/threads/${thread_id}/messages`)) as any[];
const asked = (before: number) => until('the model is asked', async () => here.model.requests.length > before);
/** What the scripted model was sent last, without the system prompt. */
const lastLines = () =>
  here.model.requests
    .at(-1)!
    .messages.slice(1)
    .map(({ role, content }) => `${role}: ${content}`);

/** A page that has sent a message, whose answer ends when `finish` is called. */
async function busyPage(options?: Parameters<typeof newThread>[0], ends = says) {
  const thread = await newThread(options);
  const { promise, resolve: finish } = Promise.withResolvers<void>();
  const before = here.model.requests.length;
  here.model.script(async (response, request) => {
    await promise;
    return ends('Five.')(response, request);
  });
  const receipts: any[] = [];
  const page = thread.pages.ui({ onData: ({ type, data }) => void (type === 'data-receipt' && receipts.push(data)) });
  const first = page.sendMessage({ text: 'Two and three?' });
  await asked(before);
  return { ...thread, page, receipts, first, finish };
}
const outcomesOf = (receipts: readonly any[], sent_as: string) =>
  receipts.filter((receipt) => receipt.sent_as === sent_as).map(({ state, step }) => [state, step]);
const typesOf = (message: UIMessage | undefined) => message?.parts.map(({ type }) => type);

describe('a message of useChat while a turn is in progress', () => {
  it('with steer is read by the turn, which answers it, and stands there when the page is loaded again', async () => {
    const { thread_id, pages, page, receipts, first, finish } = await busyPage();
    const steer = page.sendMessage({ text: 'In French.' }, { body: { when_busy: 'steer' } });
    await until('it waits', async () => (await messagesOf(thread_id)).length === 2);
    here.model.script(says('Cinq.'));
    finish();
    await Promise.all([first, steer]);
    const [question, answer, sent] = page.messages;
    expect(page.messages).toHaveLength(3);
    expect(typesOf(answer)).toEqual(['step-start', 'text', 'steering-message', 'step-start', 'text']);
    expect([textsOf(question), textsOf(answer), textsOf(sent)]).toEqual([['Two and three?'], ['Five.', 'Cinq.'], ['In French.']]);
    expect(outcomesOf(receipts, sent!.id)).toEqual([
      ['pending', null],
      ['pending', null],
      ['steered', 2],
    ]);
    const [message] = await messagesOf(thread_id);
    expect(message).toMatchObject({ state: 'steered', task_id: answer!.id, step: 2, when_busy: 'steer', message: 'In French.' });
    expect(receipts.at(-1)).toMatchObject({ message_id: message.id, task_id: answer!.id });
    expect(answer!.parts[2]).toMatchObject({ id: message.id, parts: [{ text: 'In French.' }] });
    expect((await pages.history()).map(typesOf)).toEqual([['text'], typesOf(answer)]);
    expect(await turnsOf(thread_id)).toHaveLength(1);
  });

  it('steers without asking for it, if the workflow has that policy', async () => {
    const { thread_id, page, first, finish } = await busyPage({ workflow: { on_busy: 'steer' } });
    const steer = page.sendMessage({ text: 'In French.' });
    await until('it waits', async () => (await messagesOf(thread_id)).length === 2);
    here.model.script(says('Cinq.'));
    finish();
    await Promise.all([first, steer]);
    expect(await messagesOf(thread_id)).toMatchObject([
      { state: 'steered', when_busy: 'steer' },
      { state: 'started', when_busy: 'steer' },
    ]);
  });

  it('has a separate answer, if the turn fails before it reads it', async () => {
    const { thread_id, page, receipts, first, finish } = await busyPage({}, () => fails(400, { message: 'refused' }));
    const steer = page.sendMessage({ text: 'In French.' }, { body: { when_busy: 'steer' } });
    await until('it waits', async () => (await messagesOf(thread_id)).length === 2);
    here.model.script(says('Cinq.'));
    finish();
    await Promise.all([first, steer]);
    const sent = page.messages.find((message) => textsOf(message)[0] === 'In French.')!;
    expect(textsOf(page.lastMessage)).toEqual(['Cinq.']);
    expect(outcomesOf(receipts, sent.id).at(-1)).toEqual(['started', null]);
    expect((await turnsOf(thread_id))[0]).toMatchObject({ id: page.lastMessage!.id, prompt: 'In French.', response: 'Cinq.' });
  });

  it('waits with a turn that waits for the page, and is read when the page has answered', async () => {
    const { thread_id, workflow_id, pages } = await newThread({ tools: [ADD] });
    const { agent_id, name } = await toolOf(here, workflow_id);
    await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { approval_tools: [name] }));
    here.model.script(asks({ name, args: { a: 17, b: 25 } }), says('Forty-two.'));
    const page = pages.ui({
      // The message that waits stands behind the answer.
      sendAutomaticallyWhen: ({ messages }) =>
        lastAssistantMessageIsCompleteWithApprovalResponses({ messages: messages.filter(({ role }) => role === 'assistant') }),
    });
    await page.sendMessage({ text: 'What is 17 + 25?' });
    await page.sendMessage({ text: 'In words.' }, { body: { when_busy: 'steer' } });
    expect([page.status, page.messages.map(({ role }) => role)]).toEqual(['ready', ['user', 'assistant', 'user']]);
    const { approval } = page.messages[1]!.parts.at(-1) as { approval: { id: string } };
    await page.addToolApprovalResponse({ id: approval.id, approved: true });
    await expect.poll(() => textsOf(page.messages[1])).toEqual(['Forty-two.']);
    await expect.poll(() => page.status).toBe('ready');
    expect(lastLines().at(-1)).toBe('user: In words.');
    expect((await messagesOf(thread_id))[0]).toMatchObject({ state: 'steered', step: 2 });
  });

  it('waits for its turn, ends the turn or is refused, as the page says', async () => {
    const { thread_id, pages, page, first, finish } = await busyPage();
    const later = pages.ui();
    const queued = later.sendMessage({ text: 'And four?' }, { body: { when_busy: 'enqueue' } });
    await until('it waits', async () => (await messagesOf(thread_id)).length === 2);
    const refused = pages.ui();
    await refused.sendMessage({ text: 'And six?' }, { body: { when_busy: 'reject' } });
    expect(refused.error?.message).toContain('workflow_busy');
    here.model.script(says('Seven.'), says('Nine.'));
    const interrupting = pages.ui();
    await interrupting.sendMessage({ text: 'And three?' }, { body: { when_busy: 'interrupt' } });
    finish();
    await Promise.all([first, queued]);
    expect([textsOf(page.lastMessage), textsOf(interrupting.lastMessage), textsOf(later.lastMessage)]).toEqual([
      ...[[], ['Seven.'], ['Nine.']],
    ]);
    expect((await messagesOf(thread_id)).map(({ when_busy, state }) => [when_busy, state])).toEqual([
      ...[
        ['interrupt', 'started'],
        ['enqueue', 'started'],
        ['enqueue', 'started'],
      ],
    ]);
  });

  it('forks the turn: another one next to it answers', async () => {
    const { thread_id, pages, page, first, finish } = await busyPage();
    here.model.script(says('Seven.'));
    const other = pages.ui();
    await other.sendMessage({ text: 'Or four?' }, { body: { when_busy: 'fork' } });
    finish();
    await first;
    expect([textsOf(page.lastMessage), textsOf(other.lastMessage)]).toEqual([['Five.'], ['Seven.']]);
    expect((await messagesOf(thread_id))[0]).toMatchObject({ when_busy: 'fork', state: 'started' });
  });

  it('is one message if its request is repeated with its key', async () => {
    const { thread_id, pages, first, finish } = await busyPage();
    const request = {
      method: 'POST',
      headers: { ...pages.headers, 'content-type': 'application/json', 'idempotency-key': here.unique('key') },
      body: JSON.stringify({
        when_busy: 'steer',
        messages: [{ id: 'm7', role: 'user', parts: [{ type: 'text', text: 'In French.' }] }],
      }),
    };
    const answers = [await fetch(`${pages.url}/ui`, request), await fetch(`${pages.url}/ui`, request)];
    here.model.script(says('Cinq.'));
    finish();
    const texts = await Promise.all(answers.map((answer) => answer.text()));
    await first;
    expect(texts).toEqual([expect.stringContaining('Cinq.'), expect.stringContaining('Cinq.')]);
    expect(await messagesOf(thread_id)).toHaveLength(2);
    expect(await turnsOf(thread_id)).toMatchObject([{ steps: 2 }]);
  });

  it('that edits another one has a receipt, and waits for the turn in progress', async () => {
    const { thread_id, page, first, finish } = await busyPage();
    finish();
    await first;
    here.model.script(says('Eleven.'));
    await page.sendMessage({ text: 'Five and six?', messageId: page.messages[0]!.id }, { body: { when_busy: 'steer' } });
    expect(textsOf(page.lastMessage)).toEqual(['Eleven.']);
    expect((await messagesOf(thread_id))[0]).toMatchObject({
      ...{ when_busy: 'enqueue', state: 'started', message: 'Five and six?', task_id: page.lastMessage!.id },
    });
  });
});
