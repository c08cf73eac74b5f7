import { buildResumeArray } from '@ag-ui/client';
import { lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openPages, textsOf } from '../support/front-ends/pages.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { toolOf } from '../support/runs/run-facts.ts';
import { startSecondApi } from '../support/runs/second-api.ts';
import { until } from '../support/until.ts';

const ADD = 'def add(a: int, b: int) -> int:\n    return a + b\n';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation();
});
afterAll(() => here?.stop());

/** A thread, with the pages that speak with it over the first server, and over another one. */
async function newThread(tools: string[] = []) {
  const workflow_id = await here.workflow({ tools, workflow: { remember: 'thread', output_format: 'markdown' } });
  const { id } = await here.alice.ok(here.alice.post('/api/threads', { workflow_id }), 201);
  const elsewhere = await startSecondApi(here);
  const there = openPages({ ...here, url: elsewhere.url }, id);
  return { workflow_id, thread_id: id as string, pages: openPages(here, id), there, elsewhere };
}
async function guarded() {
  const thread = await newThread([ADD]);
  const { agent_id, name } = await toolOf(here, thread.workflow_id);
  await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { approval_tools: [name] }));
  here.model.script(asks({ name, args: { a: 17, b: 25 } }), says('It is 42.'));
  return thread;
}
/** The model answers with these words, of which the last ones come when `finish` is called. */
function answerSlowly(text: string) {
  const { promise, resolve: finish } = Promise.withResolvers<void>();
  here.model.script(says(text, { until: promise }));
  return finish;
}

describe('over another server', () => {
  it('a page of useChat approves what was asked over the first one', async () => {
    const { pages, there, elsewhere } = await guarded();
    const asking = pages.ui();
    await asking.sendMessage({ text: 'What is 17 + 25?' });
    const page = there.ui({
      messages: await there.history(),
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    });
    const { approval } = page.lastMessage!.parts.at(-1) as { approval: { id: string } };
    await page.addToolApprovalResponse({ id: approval.id, approved: true });
    await expect.poll(() => textsOf(page.lastMessage)).toEqual(['It is 42.']);
    await asking.resumeStream();
    expect(textsOf(asking.lastMessage)).toEqual(['It is 42.']);
    await elsewhere.stop();
  });

  it('an AG-UI client answers an interrupt of the first one', async () => {
    const { pages, there, elsewhere } = await guarded();
    const asking = pages.agUi();
    asking.addMessage({ id: 'm1', role: 'user', content: 'What is 17 + 25?' });
    await asking.runAgent();
    const [{ id }] = asking.pendingInterrupts as [any];
    const page = there.agUi();
    page.setMessages(asking.messages);
    await page.runAgent({
      resume: buildResumeArray(asking.pendingInterrupts, { [id]: { status: 'resolved', payload: { approved: true } } }),
    });
    expect(page.messages.map(({ content }) => content)).toEqual(['What is 17 + 25?', undefined, '{"result": 42}', 'It is 42.']);
    await elsewhere.stop();
  });

  it('a page follows an answer that was asked for over the first one', async () => {
    const { pages, there, elsewhere } = await newThread();
    const finish = answerSlowly('One two.');
    const asking = pages.ui();
    const sent = asking.sendMessage({ text: 'Count.' });
    await until('the answer begins', async () => textsOf(asking.lastMessage).join('') === 'One ');
    const page = there.ui();
    const resumed = page.resumeStream();
    await until('the other page has it', async () => textsOf(page.lastMessage).join('') === 'One ');
    finish();
    await Promise.all([sent, resumed]);
    expect([textsOf(asking.lastMessage), textsOf(page.lastMessage)]).toEqual([['One two.'], ['One two.']]);
    await elsewhere.stop();
  });
});

describe('when a server stops in the middle of an answer', () => {
  it('a page of useChat sees a broken connection, and has the whole answer from another server', async () => {
    const { there, elsewhere } = await newThread();
    const finish = answerSlowly('One two.');
    let base = elsewhere.url;
    const page = there.ui({}, { fetch: (url, init) => fetch(String(url).replace(elsewhere.url, base), init) });
    const sent = page.sendMessage({ text: 'Count.' });
    await until('the answer begins', async () => textsOf(page.lastMessage).join('') === 'One ');
    await elsewhere.stop();
    await sent;
    expect([page.status, textsOf(page.lastMessage)]).toEqual(['error', ['One ']]);
    base = here.url;
    const resumed = page.resumeStream();
    finish();
    await resumed;
    expect([page.status, textsOf(page.lastMessage), page.messages.length]).toEqual(['ready', ['One two.'], 2]);
  });

  // With a plain request: the library throws a second error, which nobody can catch, when its connection breaks.
  it('the run of an AG-UI client breaks off without an end, and continues when it connects to another server', async () => {
    const { pages, there, elsewhere } = await newThread();
    const finish = answerSlowly('One two.');
    const { body } = await fetch(`${there.url}/ag-ui`, {
      method: 'POST',
      headers: { ...there.headers, 'content-type': 'application/json' },
      body: JSON.stringify({ threadId: 't', runId: 'r', messages: [{ id: 'm1', role: 'user', content: 'Count.' }] }),
    });
    const seen: string[] = [];
    const reading = body!
      .pipeThrough(new TextDecoderStream())
      .pipeTo(new WritableStream({ write: (text) => void seen.push(text) }));
    const broken = expect(reading).rejects.toThrow('terminated');
    await until('the answer begins', async () => seen.join('').includes('"delta":"One "'));
    await elsewhere.stop();
    await broken;
    expect(seen.join('')).not.toMatch(/RUN_FINISHED|RUN_ERROR/);
    const connected = pages.connect();
    finish();
    const events = await connected;
    const [{ messages }] = events.filter(({ type }) => type === 'MESSAGES_SNAPSHOT');
    const rest = events.filter(({ type }) => type === 'TEXT_MESSAGE_CONTENT').map(({ delta }) => delta);
    expect([...messages.map(({ content }: any) => content), ...rest].join('')).toBe('Count.One two.');
  });
});
