import { once } from 'node:events';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hostRule } from '../../src/domain/hosts.ts';
import { type RawReply, rawRequest } from '../support/contract/raw-request.ts';
import { ALICE, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';
import { UNKNOWN, worldOf } from './contract-world.ts';

const CORS = 'https://pages.example';
let here: TestInstallation;
let operations: { method: string; path: string }[];

beforeAll(async () => {
  here = await startTestInstallation({
    env: { CORS_ORIGINS: CORS },
    setting: { answers_to: hostRule({ listening: '127.0.0.1', names: ['perdura.example'] }) },
  });
  const { paths } = (await here.anonymous.get('/openapi.json')).body as { paths: Record<string, object> };
  operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path })),
  );
});
afterAll(() => here.stop());

const bearer = { authorization: `Bearer ${ALICE}` };
const ask = (path: string, more: Parameters<typeof rawRequest>[1] = {}) => rawRequest(`${here.url}${path}`, more);

/** What is wrong with the headers of a reply. */
function faultsOf({ headers }: RawReply): string[] {
  const policy = String(headers['content-security-policy'] ?? '');
  const wanted: Record<string, boolean> = {
    nosniff: headers['x-content-type-options'] === 'nosniff',
    'frame-ancestors': policy.includes("frame-ancestors 'none'"),
    'default-src': /default-src '(self|none)'/.test(policy),
    'no script of the page itself': !/script-src[^;]*unsafe-inline/.test(policy),
    referrer: headers['referrer-policy'] === 'no-referrer',
    opener: headers['cross-origin-opener-policy'] === 'same-origin',
    resource: headers['cross-origin-resource-policy'] === 'same-origin',
    cache: headers['cache-control'] !== undefined,
    frame: headers['x-frame-options'] === 'DENY',
    permissions: headers['permissions-policy'] === 'camera=(), geolocation=(), microphone=()',
  };
  return Object.keys(wanted).filter((name) => !wanted[name]);
}
const isPrivate = ({ headers }: RawReply) => headers['cache-control'] === 'no-store';

describe('security headers', () => {
  it('are on every operation, with a token and without', async () => {
    expect(operations.length).toBeGreaterThan(100);
    const faulty: string[] = [];
    // This stream does not end.
    for (const { method, path } of operations.filter(({ path }) => path !== '/api/changes')) {
      const url = path.replaceAll(/\{\w+\}/g, UNKNOWN);
      for (const headers of [{}, bearer] as Record<string, string>[]) {
        // Collections of Alice's are lists; deletes and the rest hit an id that is unknown, or a body that is missing.
        const reply = await ask(url, { method, headers });
        const faults = [...faultsOf(reply), ...(isPrivate(reply) ? [] : ['no-store'])];
        if (faults.length > 0) faulty.push(`${method} ${path} ${reply.status}: ${faults}`);
      }
    }
    expect(faulty).toEqual([]);
  });

  it('are on pages, files, errors and answers to malformed requests', async () => {
    const replies = {
      home: await ask('/'),
      dashboard: await ask('/dashboard'),
      legacy: await ask('/dashboard-legacy'),
      'legacy script': await ask('/dashboard-legacy/main.js'),
      description: await ask('/openapi.json'),
      docs: await ask('/docs'),
      'docs script': await ask('/docs/scalar.js'),
      'docs settings': await ask('/docs/start.js'),
      metrics: await ask('/metrics'),
      401: await ask('/api/agents'),
      404: await ask('/nothing'),
      'bad path': await ask('/%ZZ'),
      'bad JSON': await ask('/api/agents', {
        method: 'POST',
        headers: { ...bearer, 'content-type': 'application/json' },
        body: '{',
      }),
      415: await ask('/api/agents', { method: 'POST', headers: { ...bearer, 'content-type': 'text/csv' }, body: 'a' }),
      413: await ask('/api/agents', {
        method: 'POST',
        headers: { ...bearer, 'content-type': 'application/json' },
        body: `"${'x'.repeat(2_000_000)}"`,
      }),
      421: await ask('/api/agents', { headers: { host: 'rebound.example' } }),
    };
    const faulty = Object.entries(replies).filter(([, reply]) => faultsOf(reply).length > 0);
    expect(faulty.map(([name, reply]) => `${name} ${reply.status}: ${faultsOf(reply)}`)).toEqual([]);
    // Pages need a policy under which their own scripts run, and nothing else does.
    for (const page of [replies.docs, replies.dashboard])
      expect(String(page.headers['content-security-policy']).split('; ').sort()).toEqual([
        ...["base-uri 'none'", "connect-src 'self'", "default-src 'self'", "form-action 'self'", "frame-ancestors 'none'"],
        ...["img-src 'self' data:", "media-src 'self' data:", "object-src 'none'", "style-src 'self' 'unsafe-inline'"],
      ]);
    const statuses = Object.fromEntries(Object.entries(replies).map(([name, { status }]) => [name, status]));
    expect(statuses).toMatchObject({ 401: 401, 404: 404, 413: 413, 415: 415, 421: 421, docs: 200, 'docs script': 200 });
  });

  it('are on a raw reply to what cannot be parsed', async () => {
    const { hostname, port } = new URL(here.url);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.end('NONSENSE\r\n\r\n');
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 [\s\S]*x-content-type-options: nosniff/i);
  });

  it('leave ETags, conditional requests and event streams as they were', async () => {
    const skill = await here.alice.ok(here.alice.post('/api/skills', { name: 'etag', instructions: 'x' }));
    const first = await ask(`/api/skills/${skill.id}`, { headers: bearer });
    const again = await ask(`/api/skills/${skill.id}`, { headers: { ...bearer, 'if-none-match': String(first.headers.etag) } });
    expect([first.status, again.status, first.headers.etag === again.headers.etag]).toEqual([200, 304, true]);
    expect(faultsOf(again)).toEqual([]);
    here.model.always(says('ok'));
    const { ids } = await worldOf(here);
    const stream = await ask(`/api/workflows/${ids.workflows}/stream?task_id=${ids.tasks}`, { headers: bearer });
    expect(stream.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    });
    expect(faultsOf(stream)).toEqual([]);
  });
});

describe('names', () => {
  const statusOf = async (headers: Record<string, string>, path = '/openapi.json') => (await ask(path, { headers })).status;

  it('are checked: a foreign Host is answered with 421, on every kind of path', async () => {
    for (const path of [
      '/',
      '/api/agents',
      '/mcp',
      '/v1/models',
      '/dashboard',
      '/docs',
      '/openapi.json',
      '/metrics',
      '/health/live',
      '/nothing',
    ])
      expect(await statusOf({ host: 'rebound.example', ...bearer }, path), path).toBe(421);
    const { body } = await ask('/api/agents', { headers: { host: 'rebound.example' } });
    expect(JSON.parse(body)).toMatchObject({ code: 'foreign_host', detail: expect.stringContaining('ALLOWED_HOSTS') });
    expect(
      await Promise.all(['localhost', '[::1]:1', '127.0.0.1', 'perdura.example:443'].map((host) => statusOf({ host }))),
    ).toEqual([200, 200, 200, 200]);
  });

  it("are checked: another site's page is answered with 403, and those of CORS_ORIGINS are not", async () => {
    const from = (origin: string) => statusOf({ origin, ...bearer }, '/api/agents');
    expect([await from('https://elsewhere.example'), await from('null')]).toEqual([403, 403]);
    expect([await from(CORS), await from('http://localhost:5173'), await from('https://perdura.example')]).toEqual([
      200, 200, 200,
    ]);
    const preflight = await ask('/api/agents', {
      method: 'OPTIONS',
      headers: { origin: CORS, 'access-control-request-method': 'GET' },
    });
    expect(preflight.headers['access-control-allow-origin']).toBe(CORS);
    // What a page may read of an answer, in addition to what browsers let it read anyway.
    const { headers } = await ask('/api/agents', { headers: { origin: CORS, ...bearer } });
    expect(headers['access-control-allow-origin']).toBe(CORS);
    expect(String(headers['access-control-expose-headers']).split(/, ?/).sort()).toEqual([
      ...['etag', 'link', 'x-request-id', 'x-total-count'],
    ]);
  });
});

describe('/docs', () => {
  it('starts with its own script, which is read again only if it has changed', async () => {
    const script = await ask('/docs/scalar.js');
    const etag = String(script.headers.etag);
    const again = await ask('/docs/scalar.js', { headers: { 'if-none-match': etag } });
    const other = await ask('/docs/scalar.js', { headers: { 'if-none-match': '"older"' } });
    expect([script.status, again.status, again.body, other.status]).toEqual([200, 304, '', 200]);
    expect(script.body.length).toBeGreaterThan(1_000_000);
  });

  it('reads the description again only if it has changed', async () => {
    const first = await ask('/openapi.json');
    const again = await ask('/openapi.json', { headers: { 'if-none-match': String(first.headers.etag) } });
    const other = await ask('/openapi.json', { headers: { 'if-none-match': '"older"' } });
    expect([first.status, again.status, again.body, other.status, other.body === first.body]).toEqual([200, 304, '', 200, true]);
    expect([first, again].map(({ headers }) => headers['cache-control'])).toEqual(['no-cache', 'no-cache']);
  });
});

describe('/metrics', () => {
  const remote = Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4')?.address;

  it('is for this machine alone without METRICS_TOKEN, by the address of the socket', async () => {
    expect((await ask('/metrics')).status).toBe(200);
    // A proxy on this machine asks for somebody elsewhere; what it claims of them opens nothing.
    for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via'])
      expect((await ask('/metrics', { headers: { [name]: '127.0.0.1' } })).status, name).toBe(403);
  });

  it.runIf(remote)('is refused to another machine, whatever it claims to be', async () => {
    const core = here.core;
    const { openApi } = await import('../../src/main/wiring/api.ts');
    const { createResources } = await import('../../src/main/resources.ts');
    const resources = createResources(() => {});
    const open = { ...core, setting: { ...core.setting, answers_to: null } };
    const app = await openApi(open, here.driver, { resources });
    await app.listen({ host: '0.0.0.0', port: 0 });
    const { port } = app.addresses()[0] as { port: number };
    // From the address of another interface, as another machine's would be.
    const from = (headers: Record<string, string>) => rawRequest(`http://${remote}:${port}/metrics`, { headers });
    expect([(await from({})).status, (await from({ 'x-forwarded-for': '127.0.0.1' })).status]).toEqual([403, 403]);
    expect((await rawRequest(`http://127.0.0.1:${port}/metrics`)).status).toBe(200);
    await resources.close();
  });

  it('needs METRICS_TOKEN where it is set, on this machine too', async () => {
    const guarded = await startTestInstallation({ env: { METRICS_TOKEN: 'open-sesame' }, worker: false });
    const status = async (authorization?: string) =>
      (await rawRequest(`${guarded.url}/metrics`, authorization ? { headers: { authorization } } : {})).status;
    expect([
      await status(),
      await status('Bearer wrong'),
      await status('Bearer open-sesam'),
      await status(`Bearer ${ALICE}`),
    ]).toEqual([401, 401, 401, 401]);
    expect(await status('Bearer open-sesame')).toBe(200);
    await guarded.stop();
  });
});
