import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unread } from '../support/browser/unread.ts';
import { DOORS, LONG, metric } from '../support/contract/doors.ts';
import { ALICE, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

const STALL_MS = 3_000;

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation({ env: { REPLY_STALL_SECONDS: String(STALL_MS / 1_000) } });
  here.model.always(says(LONG));
});
afterAll(() => here.stop());

const streams = () => metric(here, 'perdura_streams_open');

describe('a client that takes nothing of a reply', () => {
  it.each(Object.keys(DOORS))(
    'is cut, and what waited for it is dropped: %s',
    async (door) => {
      await DOORS[door]!.ask(here);
      expect(await streams()).toBe(1);
      await until('it is cut', async () => (await streams()) === 0, 90_000);
      expect(await metric(here, 'perdura_stream_bytes_waiting')).toBe(0);
    },
    120_000,
  );

  it('is cut when the reply is not a stream, too', async () => {
    const workflow_id = await here.workflow();
    const { id } = await here.ended(await here.prompt(workflow_id), 60_000);
    const reader = await unread(`${here.url}/api/tasks/${id}?include=messages`, { token: ALICE });
    await wait(3 * STALL_MS);
    await expect(reader.read()).rejects.toThrow();
  }, 120_000);

  it('is not cut while it takes something, or while nothing waits for it', async () => {
    const idle = await unread(`${here.url}/api/workflows/${await here.workflow()}/stream`, { token: ALICE });
    const { ask, textIn } = DOORS['/v1/responses']!;
    const slow = await ask(here);
    expect(textIn(await slow.read(20)) === LONG).toBe(true);
    await wait(2 * STALL_MS);
    expect(await streams()).toBe(1);
    idle.drop();
  }, 120_000);
});

/** Sends a whole request before it reads anything, as many clients do. The reply, or the error of the connection. */
async function sentFirst(path: string, head: string[], body: Iterable<Buffer>): Promise<string> {
  const { hostname, port } = new URL(here.url);
  const socket = connect(Number(port), hostname).pause();
  const lines = [`POST ${path} HTTP/1.1`, 'host: localhost', `authorization: Bearer ${ALICE}`, ...head, '', ''];
  let said = '';
  const ended = new Promise<string>((resolve) => {
    socket.on('error', ({ message }) => resolve(message)).on('end', () => resolve(said));
  });
  socket.on('data', (data) => (said += data)).pause();
  socket.write(lines.join('\r\n'));
  for (const part of body) if (!socket.write(part)) await Promise.race([once(socket, 'drain').catch(() => {}), ended]);
  socket.resume();
  return ended;
}

const PART = Buffer.alloc(1024 * 1024, 'x');
const parts = (count: number, before = '') => [Buffer.from(before), ...Array.from({ length: count }, () => PART)];
const JSON_TYPE = 'content-type: application/json';
const FORM = '--b\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\ncontent-type: text/plain\r\n\r\n';
const chunks = (of: Buffer[]) =>
  of.flatMap((part) => [Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')]);
const length = (of: Buffer[]) => `content-length: ${Buffer.concat(of).length}`;

describe('a body that is too large', () => {
  const json = parts(20, '"');
  const form = [...parts(40, FORM), Buffer.from('\r\n--b--\r\n')];
  it.each([
    ['JSON', '/api/skills', [JSON_TYPE, length(json)], json],
    ['JSON of unknown length', '/api/skills', [JSON_TYPE, 'transfer-encoding: chunked'], chunks(json)],
    ['an import', '/api/skills/import', [JSON_TYPE, length(json)], json],
    ['/v1', '/v1/chat/completions', [JSON_TYPE, length(json)], json],
    ['/mcp', '/mcp', [JSON_TYPE, length(json)], json],
    ['an upload', '/api/knowledge-items/upload', ['content-type: multipart/form-data; boundary=b', length(form)], form],
  ])('gets its 413 although its client is still sending: %s', async (_what, path, head, body) => {
    const said = await sentFirst(path, [...head, 'connection: close'], body);
    expect(said.slice(0, 200)).toMatch(/^HTTP\/1.1 413 /);
    expect(said).toContain('too_large');
  });
});
