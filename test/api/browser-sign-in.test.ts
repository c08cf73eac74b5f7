import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { returnPage, sealLogin } from '../../src/api/sign-in/browser-sign-in.ts';
import { readConfig } from '../../src/main/config.ts';
import { loadExternalSettings } from '../../src/main/setting.ts';
import { createBrowserSignIn } from '../../src/main/wiring/browser-sign-in.ts';
import { sweep } from '../../src/temporal/repair/retention.ts';
import { type Client, clientOf } from '../support/client.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { startIssuer, type TestIssuer, visitor } from '../support/peers/issuer.ts';
import { says } from '../support/peers/model-server.ts';
import { startSecondApi } from '../support/runs/second-api.ts';
import { until } from '../support/until.ts';

let issuer: TestIssuer;
let here: TestInstallation;
const lines: string[] = [];

beforeAll(async () => {
  issuer = await startIssuer();
  const { url: OIDC_ISSUER, client_id: OIDC_CLIENT_ID, client_secret: OIDC_CLIENT_SECRET } = issuer;
  const env = { OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET, OIDC_ROLE_CLAIM: 'roles', LOG_LEVEL: 'info' };
  here = await startTestInstallation({
    env: { ...env, OIDC_NAME: 'Example', ADMIN_SUBJECTS: 'local:bob' },
    log: (line) => void lines.push(line),
    setting: { public_url: () => here.url },
  });
  here.model.always(says('done'));
  issuer.register(here.url);
});
afterAll(async () => {
  await here?.stop();
  await issuer?.stop();
});

const OWN = { 'sec-fetch-site': 'same-origin' };
const SESSION = 'perdura-session';
const isCallback = (url: string) => url.startsWith(`${here.url}/auth/callback`);
const problemIn = (response: Response) => new URL(response.headers.get('location') ?? '', here.url).searchParams.get('sign_in');

/** Signs in and returns the session, and a client that sends its cookie as a page of the dashboard does. */
async function signIn(login: string, person = visitor(login)): Promise<{ session: string; client: Client }> {
  await person.go(`${here.url}/auth/login`, (next) => next.startsWith(`${here.url}/dashboard`));
  const session = person.jarOf(here.url).get(SESSION) ?? '';
  return { session, client: clientOf(here.url, null, { ...OWN, cookie: `${SESSION}=${session}` }) };
}

describe('signing in with a browser', () => {
  it('is by authorization code with PKCE, and keeps a random session of which only the hash is stored', async () => {
    const person = visitor('ada');
    const { response, url } = await person.go(`${here.url}/auth/login`, (next) => next.startsWith(issuer.url));
    const asked = Object.fromEntries(new URL(url).searchParams);
    expect(asked).toMatchObject({ response_type: 'code', code_challenge_method: 'S256', scope: 'openid profile email' });
    expect([asked.state, asked.nonce, asked.code_challenge].every((text) => (text?.length ?? 0) >= 43)).toBe(true);
    expect(response.headers.get('set-cookie')).toMatch(/^perdura-login=[\w.-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600$/);
    expect(response.headers.get('set-cookie')).not.toContain(asked.state);

    const back = await person.go(url, isCallback);
    const done = await person.step(back.url);
    expect([done.status, done.headers.get('location')]).toEqual([302, '/dashboard/']);
    const cookies = done.headers.getSetCookie();
    expect(cookies[0]).toMatch(/^perdura-login=; .*Max-Age=0/);
    expect(cookies[1]).toMatch(/^perdura-session=ps_[\w-]{54}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=43200$/);
    const session = person.jarOf(here.url).get(SESSION) as string;
    const { rows } = await here.core.database.pool.query('SELECT t::text AS row, hash, login FROM browser_sessions t');
    expect(rows).toMatchObject([{ hash: createHash('sha256').update(session).digest(), login: 'ada' }]);
    expect(rows[0].row).not.toContain(session);
    const code = new URL(back.url).searchParams.get('code') as string;
    expect(lines.join('\n')).toContain('/auth/callback');
    for (const secret of [session, code, issuer.client_secret]) expect(lines.join('\n')).not.toContain(secret);
  });

  it('is that person on /api, with the role of the claim', async () => {
    issuer.roles = { vera: ['viewer'], edda: ['editor'] };
    const [viewer, editor] = [await signIn('vera'), await signIn('edda')];
    const me = { id: 'oidc:vera', login: 'vera', role: 'viewer', service_key_id: null };
    expect((await viewer.client.get('/api/me')).body).toMatchObject(me);
    const skill = { name: 'by a browser', instructions: 'x' };
    expect((await viewer.client.post('/api/skills', skill)).body.code).toBe('role_insufficient');
    const made = await editor.client.ok(editor.client.post('/api/skills', skill), 201);
    expect(made.created_by).toBe('oidc:edda');
    const audit = (await here.bob.get('/api/audit?principal=oidc:edda')).body as unknown as Record<string, any>[];
    expect(audit.map(({ operation, status }) => `${operation} ${status}`)).toEqual(['create_skill 201', 'sign_in 302']);
    expect(audit[1]).toMatchObject({ path: '/auth/callback', resource_type: 'sessions', address: '127.0.0.1' });
  });

  it('shows another person nothing of the first', async () => {
    const [one, other] = [await signIn('one'), await signIn('other')];
    const agent = await one.client.ok(one.client.post('/api/agents', { name: 'agent of one' }), 201);
    const workflow = await one.client.ok(one.client.post('/api/workflows', { agent_id: agent.id }), 201);
    expect((await other.client.get('/api/me')).body.login).toBe('other');
    expect((await one.client.get(`/api/workflows/${workflow.id}`)).status).toBe(200);
    expect((await other.client.get(`/api/workflows/${workflow.id}`)).status).toBe(403);
    const mixed = clientOf(here.url, null, { cookie: `${SESSION}=${other.session}; ${SESSION}=${one.session}` });
    expect((await mixed.get('/api/me')).body.login).toBe('other');
  });

  it('needs the cookie of the browser that began, its state, and a code that is fresh', async () => {
    const person = visitor('eve');
    const { url } = await person.go(`${here.url}/auth/login`, isCallback);
    const login = person.jarOf(here.url).get('perdura-login') as string;
    const back = async (address: string, cookie: string) =>
      problemIn(await fetch(address, { redirect: 'manual', headers: { cookie: `perdura-login=${cookie}` } }));
    const wrong = new URL(url);
    wrong.searchParams.set('state', 'another');
    expect(await back(wrong.href, login)).toBe('expired');
    expect(await back(url, '')).toBe('expired');
    expect(await back(url, `${login}x`.replace('.', '.AAAA'))).toBe('expired');
    const [state, nonce, code_verifier] = [new URL(url).searchParams.get('state') as string, 'n', 'v'.repeat(43)];
    const sealed = (expires_in: number) =>
      sealLogin(here.core.keys, { state, nonce, code_verifier, return_to: '/dashboard/', expires_at: Date.now() + expires_in });
    expect(await back(url, sealed(-1))).toBe('expired');
    issuer.asked = [];
    expect(await back(url, sealed(60_000))).toBe('refused');
    expect(issuer.asked).toContain('POST /token');
    // The issuer ends a code that was presented with the wrong verifier, so this takes another one.
    const fresh = visitor('eve');
    const second = await fresh.go(`${here.url}/auth/login`, isCallback);
    const cookie = fresh.jarOf(here.url).get('perdura-login') as string;
    expect(await back(second.url, cookie)).toBe(null);
    expect(await back(second.url, cookie)).toBe('refused');
    const denied = new URL(second.url);
    denied.searchParams.delete('code');
    denied.searchParams.set('error', 'access_denied');
    expect(await back(denied.href, cookie)).toBe('denied');
  });

  it('starts a new session, whatever session the browser had before', async () => {
    const mallory = await signIn('mallory');
    const victim = visitor('victim');
    victim.jarOf(here.url).set(SESSION, mallory.session);
    const { session, client } = await signIn('victim', victim);
    expect(session).not.toBe(mallory.session);
    expect((await client.get('/api/me')).body.login).toBe('victim');
    await until('the end of the planted session', async () => (await mallory.client.get('/api/me')).status === 401);
  });

  it('returns to pages of the dashboard only', async () => {
    const kept = ['/dashboard', '/dashboard/tasks?q=a&b=%2F#x', '/dashboard/a//b'];
    expect(kept.map(returnPage)).toEqual(kept);
    const others = [
      '//evil.example/dashboard',
      '/\\evil.example/dashboard',
      'https://evil.example/dashboard/',
      '/dashboard/../..//evil.example',
    ];
    const more = [
      '/dashboardx',
      '/api/me',
      'javascript:alert(1)',
      '\t//evil.example',
      '',
      undefined,
      ['/dashboard/a'],
      `/dashboard/${'x'.repeat(3_000)}`,
    ];
    expect([...others, ...more].map(returnPage)).toEqual([...others, ...more].map(() => '/dashboard/'));
    const query = new URLSearchParams({ return_to: '/dashboard/skills?q=1' });
    const { url } = await visitor('ada').go(`${here.url}/auth/login?${query}`, (next) => next.includes('/dashboard/'));
    expect(url).toBe(`${here.url}/dashboard/skills?q=1`);
  });

  it('says that the issuer is down, before and after its page, and works again afterwards', async () => {
    const person = visitor('ada');
    const { url } = await person.go(`${here.url}/auth/login`, isCallback);
    issuer.broken = 502;
    expect(problemIn(await person.step(url))).toBe('unreachable');
    issuer.broken = null;
    const elsewhere = await startIssuer();
    const env = { OIDC_ISSUER: elsewhere.url, OIDC_CLIENT_ID: 'x' };
    const other = await startTestInstallation({ worker: false, env, setting: { public_url: () => other.url } });
    const begin = async () => problemIn(await fetch(`${other.url}/auth/login`, { redirect: 'manual' }));
    expect(await begin()).toBe('unreachable');
    elsewhere.register(other.url);
    expect(await begin()).toBe(null);
    await elsewhere.stop();
    await other.stop();
  });

  it('works without a client secret, and marks its cookies for https', async () => {
    const open = await startIssuer({ is_public: true });
    const env = { OIDC_ISSUER: open.url, OIDC_CLIENT_ID: open.client_id };
    let public_url = '';
    const other = await startTestInstallation({ worker: false, env, setting: { public_url: () => public_url } });
    public_url = other.url;
    open.register(other.url);
    const { response } = await visitor('ada').go(`${other.url}/auth/login`, (next) => next.startsWith(`${other.url}/dashboard`));
    expect(response.headers.getSetCookie()[1]).toContain(SESSION);
    public_url = 'https://perdura.example';
    const secure = await fetch(`${other.url}/auth/login`, { redirect: 'manual' });
    expect(secure.headers.get('set-cookie')).toMatch(/^__Host-perdura-login=.*; Path=\/; HttpOnly; .*; Secure$/);
    expect(new URL(secure.headers.get('location') ?? '').searchParams.get('redirect_uri')).toBe(`${public_url}/auth/callback`);
    await open.stop();
    await other.stop();
  });
});

describe('the session of a browser', () => {
  it('is refused for pages of other sites, as a bearer token, and outside of /api', async () => {
    const { session } = await signIn('ada');
    const cookie = `${SESSION}=${session}`;
    const post = async (headers: Record<string, string>) =>
      (await clientOf(here.url, null, { cookie, ...headers }).post('/api/keys', { name: 5 })).body.code;
    const get = async (headers: Record<string, string>) =>
      (await clientOf(here.url, null, { cookie, ...headers }).get('/api/me')).status;
    const { host, origin } = new URL(here.url);
    const foreign: Record<string, string>[] = [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: `https://${host}.evil.example` },
      {},
      { 'sec-fetch-site': 'cross-site', origin },
    ];
    expect(await Promise.all(foreign.map(post))).toEqual(foreign.map(() => 'foreign_origin'));
    const own: Record<string, string>[] = [OWN, { origin }];
    expect(await Promise.all(own.map(post))).toEqual(['invalid_fields', 'invalid_fields']);
    const reading: Record<string, string>[] = [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'none' },
      { origin: 'https://evil.example' },
      {},
      OWN,
    ];
    expect(await Promise.all(reading.map(get))).toEqual([403, 200, 403, 200, 200]);
    const out = await fetch(`${here.url}/auth/logout`, { method: 'POST', headers: { cookie, 'sec-fetch-site': 'same-site' } });
    expect(out.status).toBe(403);

    expect((await clientOf(here.url, session).get('/api/me')).status).toBe(401);
    expect(await get({ authorization: 'Bearer wrong' })).toBe(401);
    const client = clientOf(here.url, null, { cookie, ...OWN });
    expect([(await client.get('/v1/models')).status, (await client.post('/mcp', {})).status]).toEqual([401, 401]);
  });

  // The next two wait for the seconds in which a process still takes a session for valid, at the same time.
  it.concurrent('ends with signing out, within seconds in every process, and closes open streams', async () => {
    const second = await startSecondApi(here);
    const person = visitor('ada');
    const { session, client } = await signIn('ada', person);
    const elsewhere = clientOf(second.url, null, { ...OWN, cookie: `${SESSION}=${session}` });
    const agent = await client.ok(client.post('/api/agents', { name: 'streamed' }), 201);
    const workflow = await client.ok(client.post('/api/workflows', { agent_id: agent.id }), 201);
    const streams = [client, elsewhere].map((one) => one.events(`/api/workflows/${workflow.id}/stream`));
    expect((await elsewhere.get('/api/me')).body.login).toBe('ada');
    const out = await fetch(`${here.url}/auth/logout`, { method: 'POST', headers: { cookie: `${SESSION}=${session}`, ...OWN } });
    expect([out.status, out.headers.get('set-cookie')]).toEqual([204, expect.stringMatching(/^perdura-session=; .*Max-Age=0/)]);
    for (const one of [client, elsewhere]) await until('the refusal', async () => (await one.get('/api/me')).status === 401);
    await Promise.all(streams);
    const state = await fetch(`${here.url}/auth/session`, { headers: { cookie: `${SESSION}=${session}` } });
    expect(await state.json()).toEqual({ issuer: 'Example', login_url: `${here.url}/auth/login`, signed_in: false });
    const audit = (await here.bob.get('/api/audit?principal=oidc:ada&operation=sign_out')).body;
    expect(audit[0]).toMatchObject({ status: 204, path: '/auth/logout' });
    await second.stop();
  }, 30_000);

  it.concurrent('ends with its time, and its row is removed', async () => {
    const { pool } = here.core.database;
    const { client } = await signIn('late');
    expect((await client.get('/api/me')).status).toBe(200);
    // The reconciler removes it, too; it cannot while its row is held.
    const holder = await pool.connect();
    await holder.query('BEGIN');
    await holder.query(`SELECT 1 FROM browser_sessions WHERE login = 'late' FOR KEY SHARE`);
    await pool.query(`UPDATE browser_sessions SET expires_at = now() - interval '1 second' WHERE login = 'late'`);
    await until('the refusal', async () => (await client.get('/api/me')).status === 401);
    const rows = async () => (await pool.query(`SELECT 1 FROM browser_sessions WHERE login = 'late'`)).rowCount;
    expect(await rows()).toBe(1);
    await holder.query('COMMIT');
    holder.release();
    await until('the removal', async () => {
      await sweep(here.core.store.retention.transient(new Date()), 1_000);
      return (await rows()) === 0;
    });
    expect((await pool.query('SELECT 1 FROM browser_sessions')).rowCount).toBeGreaterThan(0);
  });

  it('is not sent to a model, and a schedule whose agent needs a token warns', async () => {
    const { session, client } = await signIn('ada');
    const agent = await client.ok(client.post('/api/agents', { name: 'without a provider' }), 201);
    const workflow = await client.ok(client.post('/api/workflows', { agent_id: agent.id }), 201);
    const { task_id } = await client.ok(client.post(`/api/workflows/${workflow.id}/prompt`, { prompt: 'x' }), 201);
    const task = async () => (await client.get(`/api/tasks/${task_id}`)).body;
    await until('the end', async () => (await task()).status === 'failed');
    expect((await task()).error_code).toBe('session_not_sent');
    expect(JSON.stringify(here.model.requests)).not.toContain(session);
    const start_at = new Date(Date.now() + 3_600_000).toISOString();
    const body = {
      name: 'by a browser',
      workflow_id: workflow.id,
      prompt: 'x',
      interval_value: 1,
      interval_unit: 'weeks',
      start_at,
    };
    const made = await client.ok(client.post('/api/scheduled-agents', body), 201);
    expect(made.warnings[0].message).toContain('runs of this schedule will fail');
  });
});

it('needs an issuer and a public address', async () => {
  const env = { DATABASE_URL: 'postgresql://x', TEMPORAL_ADDRESS: 'x:1', OIDC_CLIENT_ID: 'perdura' };
  await expect(loadExternalSettings(readConfig(env))).rejects.toThrow('set PERDURA_PUBLIC_URL');
  const setting = { ...here.setting, config: readConfig({ OIDC_CLIENT_ID: 'perdura' }) };
  expect(() => createBrowserSignIn({ setting, keys: here.core.keys })).toThrow('set OIDC_ISSUER');
  const without = await startTestInstallation({ worker: false });
  const answer = await fetch(`${without.url}/auth/session`);
  expect(await answer.json()).toEqual({ issuer: null, login_url: null, signed_in: false });
  await without.stop();
});
