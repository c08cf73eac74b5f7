import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DASHBOARDS } from '../../src/main/places.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';

let root: string;
let folder: string;
let here: TestInstallation;

const get = (path: string, init: RequestInit = {}) => fetch(`${here.url}${path}`, { redirect: 'manual', ...init });
const pageOf = async (path: string) => {
  const answer = await get(path);
  return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() };
};

/** Clients tidy a path up before they send it; attackers do not. */
async function raw(path: string, header = ''): Promise<string> {
  const { hostname, port } = new URL(here.url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nConnection: close\r\n${header}\r\n`);
  return text(socket);
}

async function build(): Promise<void> {
  await mkdir(join(folder, 'assets'), { recursive: true });
  await writeFile(join(folder, 'index.html'), '<title>built</title>');
  await writeFile(join(folder, 'assets/main-1a2b3c.js'), 'export {};');
  await writeFile(join(folder, 'icon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>');
  await writeFile(join(folder, '.stamp'), 'not for the public');
}

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'perdura-dashboards-'));
  folder = join(root, 'dashboard');
  await writeFile(join(root, 'secret.txt'), 'a secret next to it');
  here = await startTestInstallation({ worker: false, dashboards: { ...DASHBOARDS, folder } });
});
afterAll(async () => {
  await here.stop();
  await rm(root, { recursive: true, force: true });
});

describe('a dashboard that was not built', () => {
  it('says what to run, and leaves the API and the legacy dashboard alone', async () => {
    for (const path of ['/dashboard', '/dashboard/', '/dashboard/agents/1']) {
      const page = await pageOf(path);
      expect(page).toMatchObject({ status: 503, type: 'text/plain; charset=utf-8' });
      expect(page.text).toMatch(/has not been built.*npm start.*vite build --config src\/dashboard\/vite.config.ts/s);
    }
    expect((await here.alice.get('/api/agents')).status).toBe(200);
    expect((await pageOf('/dashboard-legacy')).status).toBe(200);
  });
});

describe('the dashboards', () => {
  beforeAll(build);

  it('are found from the root, need no token and are not in the description of the API', async () => {
    const answer = await get('/');
    expect([answer.status, answer.headers.get('location')]).toEqual([302, '/dashboard']);
    expect(await pageOf('/dashboard')).toMatchObject({ status: 200, text: '<title>built</title>' });
    for (const path of ['/dashboard-legacy', '/dashboard-legacy/'])
      expect(await pageOf(path)).toMatchObject({ status: 200, text: expect.stringContaining('<title>Perdura') });
    const { body } = await here.anonymous.get('/openapi.json');
    expect(Object.keys(body.paths).filter((path) => path === '/' || path.includes('dashboard'))).toEqual([]);
  });

  it('answer every route of the application with its page', async () => {
    for (const path of ['/dashboard/', '/dashboard/workflows', '/dashboard/workflows/019a?tab=runs', '/dashboard/a/b/c/'])
      expect(await pageOf(path)).toEqual({ status: 200, type: 'text/html; charset=utf-8', text: '<title>built</title>' });
    expect((await get('/dashboard/workflows', { method: 'HEAD' })).status).toBe(200);
  });

  it('answer 404 for a file that is gone and for a path that is not a page', async () => {
    for (const path of [
      '/dashboard/assets/gone-4d5e6f.js',
      '/dashboard/assets/',
      '/dashboard/favicon.ico',
      '/dashboard-legacy/x',
    ])
      expect(await pageOf(path)).toMatchObject({ status: 404, type: expect.stringContaining('application/problem+json') });
    expect((await get('/dashboard/workflows', { method: 'POST' })).status).toBe(405);
    expect((await pageOf('/dashboardx')).status).toBe(404);
  });

  it('send their headers with every answer', async () => {
    for (const path of ['/dashboard', '/dashboard/workflows', '/dashboard/assets/gone.js', '/dashboard-legacy']) {
      const { headers } = await get(path);
      expect(headers.get('content-security-policy')).toBe(
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; connect-src 'self'; object-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
      );
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
    }
  });

  it('let browsers cache files named by their content, and nothing else', async () => {
    const cached = async (path: string) => (await get(path)).headers.get('cache-control');
    expect(await cached('/dashboard/assets/main-1a2b3c.js')).toBe('public, max-age=31536000, immutable');
    for (const path of [
      '/dashboard',
      '/dashboard/workflows',
      '/dashboard/icon.svg',
      '/dashboard/assets/gone.js',
      '/dashboard-legacy',
    ])
      expect(await cached(path)).toBe('no-cache');
    const { headers } = await get('/dashboard');
    expect(await raw('/dashboard', `If-None-Match: ${headers.get('etag')}\r\n`)).toMatch(/^HTTP\/1\.1 304 /);
  });

  it('lead to nothing outside their folders', async () => {
    const ways = ['/../secret.txt', '/..%2fsecret.txt', '/%2e%2e/secret.txt', '/%2e%2e%2fsecret.txt', '/assets/../../secret.txt'];
    const more = ['/..%5csecret.txt', '/%252e%252e/secret.txt', '//secret.txt', '/%00', '/%', `/${join(root, 'secret.txt')}`];
    for (const door of ['/dashboard', '/dashboard-legacy'])
      for (const way of [...ways, ...more]) {
        const answer = await raw(`${door}${way}`);
        expect(answer, way).toMatch(/^HTTP\/1\.1 (400|403|404) /);
        expect(answer).not.toContain('a secret next to it');
      }
    expect(await raw('/dashboard/.stamp')).not.toContain('not for the public');
  });
});
