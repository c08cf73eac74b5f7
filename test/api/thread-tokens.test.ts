import { lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OPEN_TO_THREAD_TOKENS } from '../../src/api/checks/thread-tokens.ts';
import { hostRule } from '../../src/domain/hosts.ts';
import { sweep } from '../../src/temporal/repair/retention.ts';
import { declaredEndpoints } from '../support/contract/endpoints.ts';
import { openPages, textsOf } from '../support/front-ends/pages.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, hangs, says } from '../support/peers/model-server.ts';
import { toolOf } from '../support/runs/run-facts.ts';
import { until } from '../support/until.ts';

const ADD = 'def add(a: int, b: int) -> int:\n    return a + b\n';
const SHOP = 'https://shop.example';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation({ setting: { answers_to: hostRule({ listening: '127.0.0.1' }) } });
});
afterAll(() => here.stop());

/** A thread whose agent has a Python tool, which waits for an approval. */
async function guarded() {
  const workflow_id = await here.workflow({ tools: [ADD], workflow: { remember: 'thread', output_format: 'markdown' } });
  const { agent_id, name } = await toolOf(here, workflow_id);
  await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { approval_tools: [name] }));
  const { id: thread_id } = await here.alice.ok(here.alice.post('/api/threads', { workflow_id }), 201);
  return { workflow_id, thread_id: thread_id as string, call: { name, args: { a: 17, b: 25 } } };
}
const tokenOf = async (thread_id: string, body: object = {}) =>
  here.alice.ok(here.alice.post(`/api/threads/${thread_id}/tokens`, body), 201);

interface Asked {
  token: string;
  method?: string;
  body?: object;
  origin?: string;
}
async function ask(path: string, { token, method = 'GET', body, origin }: Asked) {
  const answer = await fetch(`${here.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body ? { 'content-type': 'application/json' } : {}),
      ...(origin ? { origin } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await answer.text();
  return { status: answer.status, code: text.startsWith('{') ? codeOf(JSON.parse(text)) : undefined, headers: answer.headers };
}
/** The code of a refusal, which /v1 sends within `error`. */
const codeOf = ({ code, error }: { code?: string; error?: { code?: string } }) => code ?? error?.code;
const statusOf = async (path: string, asked: Asked) => (await ask(path, asked)).status;

describe('a page with the token of a thread', () => {
  it('talks, approves and reads its turns', async () => {
    const { workflow_id, thread_id, call } = await guarded();
    const { token } = await tokenOf(thread_id);
    here.model.script(asks({ ...call, text: 'I add.' }), says('It is 42.'));
    const page = openPages(here, thread_id, token).ui({
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    });
    await page.sendMessage({ text: 'What is 17 + 25?' });
    const { approval } = page.lastMessage!.parts.at(-1) as { approval: { id: string } };
    await page.addToolApprovalResponse({ id: approval.id, approved: true });
    await expect.poll(() => textsOf(page.lastMessage)).toEqual(['I add.', 'It is 42.']);
    const { id } = page.lastMessage!;
    const paths = [
      ...[`/api/threads/${thread_id}`, `/api/threads/${thread_id}/ui/messages`, `/api/tasks?thread_id=${thread_id}`],
      ...[`/api/tasks/${id}`, `/api/tasks/${id}/steps`, `/api/workflows/${workflow_id}/stream?task_id=${id}`],
    ];
    expect(await Promise.all(paths.map((path) => statusOf(path, { token })))).toEqual([200, 200, 200, 200, 200, 200]);
    const renamed = { token, method: 'PUT', body: { title: 'Sums' } };
    expect(await statusOf(`/api/threads/${thread_id}`, renamed)).toBe(200);
    const task = await here.alice.ok(here.alice.get(`/api/tasks/${id}`));
    expect(task).toMatchObject({ status: 'completed', trigger: 'thread', thread_id });
  });

  it('reaches nothing of another thread', async () => {
    const [own, other] = [await guarded(), await guarded()];
    const { token } = await tokenOf(own.thread_id);
    const url = `data:text/plain;base64,${Buffer.from('seventeen').toString('base64')}`;
    const files = [{ type: 'file' as const, filename: 'a.txt', mediaType: 'text/plain', url }];
    const talk = async (thread_id: string, access_token?: string) => {
      here.model.script(says('Read.'));
      const pages = openPages(here, thread_id, access_token);
      await pages.ui().sendMessage({ text: 'Read.', files });
      const [sent, answer] = await pages.history();
      return { task_id: answer!.id, file: (sent!.parts[0] as { url: string }).url };
    };
    const [mine, foreign] = [await talk(own.thread_id, token), await talk(other.thread_id)];
    const pathsOf = ({ thread_id, workflow_id }: typeof own, { task_id, file }: typeof mine) => [
      ...[`/api/threads/${thread_id}`, `/api/tasks/${task_id}`, `/api/tasks?thread_id=${thread_id}`],
      ...[`/api/workflows/${workflow_id}/stream?task_id=${task_id}`, file, `/api/threads/${thread_id}/ui/messages`],
      `/api/threads/${thread_id}/messages`,
    ];
    const askAll = async (paths: string[]) =>
      (await Promise.all(paths.map((path) => ask(path, { token })))).map(({ status }) => status);
    expect(await askAll(pathsOf(own, mine))).toEqual([200, 200, 200, 200, 200, 200, 200]);
    expect(await askAll(pathsOf(other, foreign))).toEqual([403, 403, 403, 403, 403, 403, 403]);
    expect(await askAll(['/api/tasks', `/api/workflows/${own.workflow_id}/stream`, '/api/unknown', '/v1/models'])).toEqual([
      ...[403, 403, 403, 403],
    ]);
  });

  it('reaches no operation of the contract but those that are listed', async () => {
    const { thread_id } = await guarded();
    const { token } = await tokenOf(thread_id);
    const endpoints = (await declaredEndpoints()).filter(({ access }) => access !== null);
    expect(endpoints.map(({ operation }) => operation)).toEqual(expect.arrayContaining(Object.keys(OPEN_TO_THREAD_TOKENS)));
    const closed = endpoints.filter(({ operation }) => !(operation in OPEN_TO_THREAD_TOKENS));
    expect(closed.length).toBeGreaterThan(150);
    const answers: string[] = [];
    for (const { method, path } of closed) {
      const { status, code } = await ask(path.replaceAll(/\{\w+\}/g, thread_id), { token, method });
      answers.push(`${status} ${code} ${method} ${path}`);
    }
    expect(answers.filter((answer) => !answer.startsWith('403 thread_token_only'))).toEqual([]);
  }, 120_000);
});

describe('the token of a thread', () => {
  it('is made by the owner, within its limits, and kept as a hash', async () => {
    const { thread_id } = await guarded();
    const { token, expires_at, origins } = await tokenOf(thread_id, { ttl_seconds: 60, origins: [SHOP] });
    expect([Math.abs(Date.parse(expires_at) - Date.now() - 60_000) < 10_000, origins]).toEqual([true, [SHOP]]);
    const kept = await here.sql('SELECT t::text AS text FROM thread_tokens t WHERE thread_id = $1', thread_id);
    expect(kept).toHaveLength(1);
    expect(kept[0].text).not.toContain(token.slice(3));
    const path = `/api/threads/${thread_id}/tokens`;
    const refused = await Promise.all([
      here.alice.post(path, { ttl_seconds: 59 }),
      here.alice.post(path, { ttl_seconds: 86_401 }),
      here.alice.post(path, { origins: [`${SHOP}/cart`] }),
      here.bob.post(path, {}),
      here.bob.del(path),
    ]);
    expect(refused.map(({ status }) => status)).toEqual([422, 422, 422, 403, 403]);
    expect(await statusOf(path, { token, method: 'POST', body: {} })).toBe(403);
  });

  it('ends with its time, with the thread, and when it is revoked; an open stream ends with it', async () => {
    const [timed, revoked, deleted] = [await guarded(), await guarded(), await guarded()];
    const paths = new Map<string, string>();
    for (const { thread_id } of [timed, revoked, deleted])
      paths.set(`/api/threads/${thread_id}`, (await tokenOf(thread_id)).token);
    const statuses = () => Promise.all([...paths].map(([path, token]) => statusOf(path, { token })));
    expect(await statuses()).toEqual([200, 200, 200]);
    const before = here.model.requests.length;
    here.model.script(hangs('Half'));
    const page = openPages(here, revoked.thread_id, paths.get(`/api/threads/${revoked.thread_id}`)).ui();
    const sent = page.sendMessage({ text: 'Slowly?' });
    await until('its model is asked', async () => here.model.requests.length > before);
    await here.sql(`UPDATE thread_tokens SET expires_at = now() - interval '1 second' WHERE thread_id = $1`, timed.thread_id);
    expect((await here.alice.del(`/api/threads/${revoked.thread_id}/tokens`)).status).toBe(204);
    expect((await here.alice.del(`/api/threads/${deleted.thread_id}`)).status).toBe(204);
    await expect.poll(statuses).toEqual([401, 401, 401]);
    const kept = () => here.sql('SELECT 1 FROM thread_tokens WHERE thread_id = $1', timed.thread_id);
    await sweep(here.core.store.retention.transient(new Date()), 10_000);
    expect(await kept()).toHaveLength(1);
    await sweep(here.core.store.retention.transient(new Date(Date.now() + 86_400_000)), 10_000);
    expect(await kept()).toEqual([]);
    await sent;
    expect(page.status).toBe('error');
    const [{ id }] = (await here.alice.ok(here.alice.get(`/api/tasks?thread_id=${revoked.thread_id}`))) as any[];
    await here.alice.ok(here.alice.post(`/api/tasks/${id}/stop`));
  });

  it('made with a service key has no more rights than the key, and ends with it and when it is rotated', async () => {
    const { thread_id } = await guarded();
    const makeKey = async (scopes: string[]) =>
      here.alice.ok(here.alice.post('/api/keys', { name: here.unique('key'), scopes }), 201);
    const make = async ({ key }: { key: string }) => {
      const answer = await fetch(`${here.url}/api/threads/${thread_id}/tokens`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
      });
      return ((await answer.json()) as { token: string }).token;
    };
    const [deleted, rotated] = [await makeKey(['read', 'run']), await makeKey(['read', 'run'])];
    const tokens = [await make(deleted as never), await make(rotated as never)];
    const path = `/api/threads/${thread_id}`;
    const statuses = () => Promise.all(tokens.map((token) => statusOf(path, { token })));
    expect(await statuses()).toEqual([200, 200]);
    expect(await ask(path, { token: tokens[0]!, method: 'PUT', body: { title: 'x' } })).toMatchObject({
      status: 403,
      code: 'scope_missing',
    });
    await here.alice.ok(here.alice.post(`/api/keys/${rotated.id}/rotate`, { grace_seconds: 600 }), 201);
    expect((await here.alice.del(`/api/keys/${deleted.id}`)).status).toBe(204);
    await expect.poll(statuses).toEqual([401, 401]);
  });
});

describe('pages of other sites', () => {
  const preflight = async (path: string, origin: string) => {
    const answer = await fetch(`${here.url}${path}`, {
      method: 'OPTIONS',
      headers: {
        ...{ origin, 'access-control-request-method': 'POST' },
        'access-control-request-headers': 'authorization,content-type',
      },
    });
    return [answer.headers.get('access-control-allow-origin'), answer.headers.get('access-control-allow-headers')];
  };

  it('use a token that names them, and only where it opens something', async () => {
    const { thread_id } = await guarded();
    const { token } = await tokenOf(thread_id, { origins: ['https://forum.example'] });
    const path = `/api/threads/${thread_id}`;
    expect(await preflight(`${path}/ui`, 'https://forum.example')).toEqual([
      'https://forum.example',
      'authorization,content-type',
    ]);
    expect((await preflight('/api/agents', 'https://forum.example'))[0]).toBeNull();
    expect((await preflight(`${path}/ui`, 'https://elsewhere.example'))[0]).toBeNull();
    const [own, foreign] = [
      await ask(path, { token, origin: 'https://forum.example' }),
      await ask(path, { token, origin: 'https://elsewhere.example' }),
    ];
    expect([own.status, own.headers.get('access-control-allow-origin')]).toEqual([200, 'https://forum.example']);
    expect([foreign.status, foreign.code, foreign.headers.get('access-control-allow-origin')]).toEqual([
      ...[403, 'foreign_origin', null],
    ]);
    // A site that another token names uses that one, and no other.
    await tokenOf((await guarded()).thread_id, { origins: ['https://news.example'] });
    expect((await preflight(`${path}/ui`, 'https://news.example'))[0]).toBe('https://news.example');
    expect(await ask(path, { token, origin: 'https://news.example' })).toMatchObject({ status: 403, code: 'foreign_origin' });
  });

  it('read for a day that their token has expired or was revoked', async () => {
    const { thread_id } = await guarded();
    const { token } = await tokenOf(thread_id, { origins: ['https://kiosk.example'] });
    const path = `/api/threads/${thread_id}`;
    expect((await here.alice.del(`${path}/tokens`)).status).toBe(204);
    const refused = await ask(path, { token, origin: 'https://kiosk.example' });
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([401, 'https://kiosk.example']);
    await here.sql(`UPDATE thread_tokens SET expires_at = now() - interval '25 hours' WHERE thread_id = $1`, thread_id);
    expect((await preflight(`${path}/ui`, 'https://kiosk.example'))[0]).toBeNull();
  });
});
