// Serves the page, and gives it a token for its thread. Your own server does the same for the people who are signed in to it.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';

const { PERDURA_URL = 'http://127.0.0.1:8080', PERDURA_TOKEN, PERDURA_AGENT, PORT = '5174', DIST } = process.env;
const dist = DIST ?? join(import.meta.dirname, 'dist');
const origin = `http://127.0.0.1:${PORT}`;
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };

async function call(path, body) {
  const headers = { authorization: `Bearer ${PERDURA_TOKEN}`, 'content-type': 'application/json' };
  const answer = await fetch(`${PERDURA_URL}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${path}: ${(await answer.json()).detail}`);
  return answer.json();
}

/** Returns what the page needs. Check here that the thread is one of the person who asks. */
async function openSession(thread) {
  const thread_id = thread ?? (await call('/api/threads', { agent_id: PERDURA_AGENT })).id;
  const { token } = await call(`/api/threads/${thread_id}/tokens`, { ttl_seconds: 3_600, origins: [origin] });
  return { thread: thread_id, token, url: `${PERDURA_URL}/api/threads/${thread_id}` };
}

const server = createServer(async (request, response) => {
  try {
    const { pathname, searchParams } = new URL(request.url, origin);
    if (request.method === 'POST' && pathname === '/session') {
      const session = await openSession(searchParams.get('thread') ?? undefined);
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(session));
      return;
    }
    const file = pathname === '/' ? '/index.html' : pathname;
    const content = await readFile(join(dist, file));
    response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' }).end(content);
  } catch (error) {
    response.writeHead(error.code === 'ENOENT' ? 404 : 502).end(String(error.message));
  }
});
server.listen(Number(PORT), '127.0.0.1', () => console.log(`Open ${origin}`));
