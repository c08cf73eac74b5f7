import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ALICE, startTestInstallation, type TestInstallation } from '../support/installation.ts';

let here: TestInstallation;
let uploads: string[];
const temporary = mkdtempSync(join(tmpdir(), 'perdura-uploads-'));
const before = process.env.TMPDIR;
beforeAll(async () => {
  process.env.TMPDIR = temporary;
  here = await startTestInstallation({ worker: false });
  const { id } = await here.alice.ok(here.alice.post('/api/knowledge-sources', { name: 'shelf' }), 201);
  FORMS['/api/knowledge-items/upload'] = { filename: 'a.txt', content: 'Some words.\n'.repeat(20), fields: { source_id: id } };
  const { paths } = (await here.anonymous.get('/openapi.json')).body;
  uploads = Object.entries(paths as Record<string, { post?: { requestBody?: { content: object } } }>)
    .filter(([, { post }]) => 'multipart/form-data' in (post?.requestBody?.content ?? {}))
    .map(([path]) => path);
});
afterAll(async () => {
  await here.stop();
  if (before === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = before;
  rmSync(temporary, { recursive: true });
});

interface Form {
  filename: string;
  content: string;
  fields: Record<string, string>;
}

/** A form that each operation takes. */
const FORMS: Record<string, Form> = {
  '/api/attachments': { filename: 'late.txt', content: 'Some words.\n'.repeat(20), fields: {} },
  '/api/custom-tools/upload': { filename: 'late.py', content: 'def late() -> int:\n    return 1\n', fields: {} },
};

const BOUNDARY = 'the-boundary';
const filePart = ({ filename, content }: Form) =>
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="${filename}"\r\nContent-Type: text/plain\r\n\r\n${content}`;
const fieldParts = ({ fields }: Form) =>
  Object.entries(fields)
    .map(([name, value]) => `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)
    .join('');
const END = `\r\n--${BOUNDARY}--\r\n`;
const wholeOf = (form: Form) => `${fieldParts(form)}${filePart(form)}${END}`;

interface Sent {
  body: string;
  type?: string;
  /** Left out: that of the body. */
  length?: number;
  chunked?: boolean;
}

/** Sends bytes as they are. What is to be shorter than it says ends its half of the connection, as a client that is cut off does. */
async function sent(path: string, { body, type = `multipart/form-data; boundary=${BOUNDARY}`, length, chunked }: Sent) {
  const { hostname, port } = new URL(here.url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  const framing = chunked ? 'transfer-encoding: chunked' : `content-length: ${length ?? Buffer.byteLength(body)}`;
  const payload = chunked ? `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n` : body;
  socket.write(`POST ${path} HTTP/1.1\r\nhost: ${hostname}:${port}\r\nauthorization: Bearer ${ALICE}\r\nconnection: close\r\n`);
  const cut = chunked || length !== undefined;
  socket.write(`content-type: ${type}\r\n${framing}\r\n${cut ? 'expect: 100-continue\r\n' : ''}\r\n`);
  // What is cut off is so while the service reads it.
  if (cut) await once(socket, 'readable').then(() => socket.read());
  if (cut) socket.end(payload);
  else socket.write(payload);
  const answer = await text(socket);
  const [head = '', problem = ''] = answer.split('\r\n\r\n');
  return { status: Number(head.split(' ')[1]), body: problem.startsWith('{') ? JSON.parse(problem) : problem };
}

const BROKEN: [what: string, broken: (form: Form) => Sent][] = [
  ['ends within a part', (form) => ({ body: `${fieldParts(form)}${filePart(form).slice(0, -5)}` })],
  ['ends within the headers of a part', (form) => ({ body: `${fieldParts(form)}--${BOUNDARY}\r\nContent-Dispo` })],
  ['has no last boundary', (form) => ({ body: `${fieldParts(form)}${filePart(form)}` })],
  [
    'has a boundary at its end that is not the last',
    (form) => ({ body: `${fieldParts(form)}${filePart(form)}\r\n--${BOUNDARY}\r\n` }),
  ],
  ['ends within its last boundary', (form) => ({ body: wholeOf(form).slice(0, -4) })],
  ['is empty', () => ({ body: '' })],
  ['is not a form', () => ({ body: 'not a form' })],
  ['has a part without headers', (form) => ({ body: `--${BOUNDARY}\r\n\r\nx\r\n${wholeOf(form).slice(0, -9)}` })],
  ['is shorter than its Content-Length', (form) => ({ body: filePart(form).slice(0, -5), length: 4_000 })],
  ['has a Content-Length beyond its last boundary', (form) => ({ body: wholeOf(form), length: 4_000 })],
  ['lacks its last chunk', (form) => ({ body: wholeOf(form), chunked: true })],
  ['has no boundary', (form) => ({ body: wholeOf(form), type: 'multipart/form-data' })],
  ['has an empty boundary', (form) => ({ body: wholeOf(form), type: 'multipart/form-data; boundary=' })],
  ['has a quoted boundary that is empty', (form) => ({ body: wholeOf(form), type: 'multipart/form-data; boundary=""' })],
];

const collectionOf = (path: string) => path.replace('/upload', '');
/** Files of prompts have no list. */
const keptAt = async (path: string) =>
  path === '/api/attachments'
    ? (await here.core.database.pool.query('SELECT id FROM attachments')).rows
    : (await here.alice.get(collectionOf(path))).body;

describe('an upload whose form', () => {
  it('is one of an operation that this test has a form for', () => {
    expect(uploads.sort()).toEqual(Object.keys(FORMS).sort());
  });

  it.for(BROKEN)('%s is refused with 400, and nothing is kept of it', async ([, broken]) => {
    const files = readdirSync(temporary);
    for (const path of uploads) {
      const answer = await sent(path, broken(FORMS[path] as Form));
      expect([path, answer.status, answer.body.code]).toEqual([
        path,
        400,
        expect.stringMatching(/^(malformed_body|incomplete_request)$/),
      ]);
      expect(answer.body.detail).toMatch(/send|Content-Type/);
      expect(await keptAt(path)).toEqual([]);
    }
    expect(readdirSync(temporary)).toEqual(files);
  });

  it('is whole is taken, whatever the order of its parts, and warns of a field that nothing reads', async () => {
    for (const path of uploads) {
      const form = FORMS[path] as Form;
      expect(await keptAt(path)).toEqual([]);
      const later = fieldParts({ ...form, fields: { ...form.fields, colour: 'red' } });
      const answer = await sent(path, { body: `${filePart(form)}\r\n${later.slice(0, -2)}${END}` });
      expect([path, answer.status, answer.body.warnings?.[0]?.path]).toEqual([path, 201, 'colour']);
      await here.alice.ok(here.alice.del(`${collectionOf(path)}/${answer.body.id}`), 204);
    }
  });

  it('says a field twice, or has the file as text, is refused', async () => {
    const path = '/api/knowledge-items/upload';
    const form = FORMS[path] as Form;
    const twice = await sent(path, { body: `${fieldParts(form)}${wholeOf(form)}` });
    expect([twice.status, twice.body.errors?.[0]?.path]).toEqual([422, 'source_id']);
    const asText = await sent(path, { body: `${fieldParts({ ...form, fields: { file: 'text' } }).slice(0, -2)}${END}` });
    expect([asText.status, asText.body.code]).toEqual([422, 'no_file']);
  });
});
