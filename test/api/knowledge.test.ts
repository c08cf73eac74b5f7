import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDemoModel } from '../../src/embedded/demo-model.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { docxOf, pdfOf } from '../support/runs/documents.ts';

let here: TestInstallation;
let embeddings: Awaited<ReturnType<typeof startDemoModel>>;
let made = 0;
const unique = (name: string) => `${name} ${++made}`;

beforeAll(async () => {
  embeddings = await startDemoModel();
  const setting = { embeddings: { base_url: embeddings.url, model: 'demo', api_key: null } };
  here = await startTestInstallation({ worker: false, setting });
});
afterAll(async () => {
  await here.stop();
  await embeddings.stop();
});

const source = async (more: object = {}, { alice } = here) =>
  (await alice.ok(alice.post('/api/knowledge-sources', { name: unique('source'), ...more }), 201)).id as string;
const item = async (source_id: string, content: string, more: object = {}, { alice } = here) =>
  alice.ok(alice.post('/api/knowledge-items', { source_id, name: unique('item'), content, ...more }), 201);
const query = async (body: object, { alice } = here) => alice.ok(alice.post('/api/knowledge-items/query', body));

async function upload(filename: string, content: Uint8Array | string, source_id: string) {
  const form = new FormData();
  form.set('source_id', source_id);
  form.set('tags', 'uploaded, file');
  form.set('file', new Blob([content as never]), filename);
  return here.alice.send('POST', '/api/knowledge-items/upload', { body: form });
}

describe('knowledge items', () => {
  it('are found by words and by meaning, best first, within sources and tags', async () => {
    const [a, b] = [await source(), await source()];
    const trains = await item(a, 'Trains are booked in second class.', { tags: ['travel'] });
    await item(a, 'The canteen serves soup on Mondays.', { tags: ['food'] });
    await item(b, 'Trains of thought are free.');
    const found = await query({ query: 'how are trains booked?', source_ids: [a] });
    expect(found).toMatchObject({ warnings: [] });
    expect(found.items[0]).toMatchObject({
      item_id: trains.id,
      source_id: a,
      position: 0,
      content: 'Trains are booked in second class.',
    });
    expect(found.items[0].score).toBeGreaterThan(found.items[1].score);
    expect(found.items[0].vector_score).toBeGreaterThan(0.3);
    const tagged = await query({ query: 'how are trains booked?', tags: ['food'] });
    expect(tagged.items.map(({ content }: { content: string }) => content)).toEqual(['The canteen serves soup on Mondays.']);
    expect((await query({ source_ids: [a], limit: 1 })).items).toHaveLength(1);
  });

  it('keep their text apart, and are found by a new text once it is changed', async () => {
    const id = await source();
    const one = await item(id, 'The old text speaks of walruses.');
    expect(one).toMatchObject({ status: 'indexed', last_error: null, chunks: 1 });
    expect(one).not.toHaveProperty('content');
    await here.alice.ok(here.alice.put(`/api/knowledge-items/${one.id}`, { content: 'The new text speaks of pelicans.' }));
    expect((await query({ query: 'pelicans', source_ids: [id] })).items[0]).toMatchObject({ item_id: one.id });
    const former = await query({ query: 'walruses', source_ids: [id] });
    expect(former.items.map((it: { text_score: number | null }) => it.text_score)).toEqual([null]);
    const content = await here.alice.ok(here.alice.get(`/api/knowledge-items/${one.id}/content`));
    expect(content).toMatchObject({ content: 'The new text speaks of pelicans.', content_type: 'text/plain' });
  });

  it('are listed by their source and their type', async () => {
    const id = await source();
    const markdown = await item(id, '# A title', { content_type: 'text/markdown' });
    await item(id, 'plain');
    const listed = await here.alice.ok(here.alice.get(`/api/knowledge-items?source_id=${id}&content_type=text/markdown`));
    expect(listed.map((it: { id: string }) => it.id)).toEqual([markdown.id]);
  });

  it('go with their source, which stays while an agent uses it', async () => {
    const { alice } = here;
    const id = await source();
    const one = await item(id, 'text');
    const agent = await alice.ok(alice.post('/api/agents', { name: unique('reader'), knowledge_source_ids: [id] }), 201);
    expect(await alice.del(`/api/knowledge-sources/${id}`)).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining(`agent ${agent.name}`) },
    });
    await alice.ok(alice.del(`/api/agents/${agent.id}`));
    await alice.ok(alice.del(`/api/knowledge-sources/${id}`));
    expect((await alice.get(`/api/knowledge-items/${one.id}`)).status).toBe(404);
  });

  it('refuse a source that is not there, or that lives elsewhere', async () => {
    const elsewhere = await source({
      source_type: 'vector_db',
      connection_config: { url: 'http://127.0.0.1:1', collection: 'c' },
    });
    const missing = '01900000-0000-7000-8000-000000000000';
    for (const source_id of [elsewhere, missing]) {
      const answer = await here.alice.post('/api/knowledge-items', { source_id, name: 'x', content: 'x' });
      expect(answer).toMatchObject({ status: 422, body: { errors: [{ path: 'source_id' }] } });
      expect(await upload('a.txt', 'x', source_id)).toMatchObject({ status: 422, body: { errors: [{ path: 'source_id' }] } });
    }
    expect(await here.alice.post('/api/knowledge-items/query', { query: 'x', source_ids: [elsewhere, missing] })).toMatchObject({
      ...{ status: 422, body: { errors: [{ path: 'source_ids' }] } },
    });
  });
});

describe('uploads', () => {
  it.each([
    ['a.pdf', pdfOf('Walrus in a portable document'), 'application/pdf'],
    ['b.pdf', pdfOf('Walrus packed', { compressed: true }), 'application/pdf'],
    ['c.docx', docxOf('Walrus in a Word document'), 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
    [
      'd.html',
      '<html><head><style>p{}</style></head><body><p>Walrus &amp; page</p><script>x()</script></body></html>',
      'text/html',
    ],
    ['e.md', '# Walrus\n\nin Markdown', 'text/markdown'],
    ['f.csv', 'animal,weight\nWalrus,1000\n', 'text/csv'],
    ['g.TXT', 'Walrus', 'text/plain'],
    ['h.json', '{"animal": "Walrus"}', 'application/json'],
  ])('take the text out of %s', async (filename, bytes, content_type) => {
    const id = await source();
    const answer = await upload(filename, bytes, id);
    expect(answer).toMatchObject({
      status: 201,
      body: { name: filename, content_type, status: 'indexed', tags: ['uploaded', 'file'] },
    });
    const { content } = await here.alice.ok(here.alice.get(`/api/knowledge-items/${answer.body.id}/content`));
    expect(content).toContain('Walrus');
    expect(content).not.toMatch(/<p>|x\(\)|p\{/);
    expect((await query({ query: 'walrus', source_ids: [id] })).items).toHaveLength(1);
  });

  it.each([
    ['a broken PDF', 'x.pdf', '%PDF-1.4 and nothing of the kind', 'unreadable_file'],
    ['a broken Word document', 'x.docx', 'PK\u0003\u0004 broken', 'unreadable_file'],
    ['an archive that unpacks to more than can be read', 'x.docx', docxOf('bomb', 150_000_000), 'unreadable_file'],
    ['text that is not UTF-8', 'x.txt', new Uint8Array([0xff, 0xfe, 0x41]), 'unreadable_file'],
    ['broken JSON', 'x.json', '{"a": ', 'unreadable_file'],
    ['an empty file', 'x.md', '  ', 'no_text'],
    ['a kind of file it does not know', 'x.exe', 'MZ', 'unknown_file_type'],
  ])('refuse %s and write nothing', async (_, filename, bytes, code) => {
    const id = await source();
    expect(await upload(filename, bytes, id)).toMatchObject({ status: 422, body: { code, errors: [{ path: 'file' }] } });
    expect((await here.alice.get(`/api/knowledge-items?source_id=${id}`)).body).toEqual([]);
  });
});

describe('without an embedding endpoint', () => {
  it('falls back to word search, and reports it', async () => {
    const plain = await startTestInstallation({ worker: false });
    try {
      const id = await source({}, plain);
      const one = await item(id, 'Trains are booked in second class.', {}, plain);
      expect(one).toMatchObject({ status: 'text_only', last_error: expect.stringContaining('EMBEDDINGS_BASE_URL') });
      const found = await query({ query: 'trains' }, plain);
      expect(found.items).toMatchObject([{ item_id: one.id, vector_score: null, score: 1 }]);
      // One of the words is enough.
      expect((await query({ query: 'trains or aeroplanes' }, plain)).items).toMatchObject([{ item_id: one.id }]);
      expect(found.warnings[0].message).toContain('uses words only');
    } finally {
      await plain.stop();
    }
  });

  it('never shows the key of the embedding endpoint, even if the endpoint repeats it', async () => {
    const server = createServer((request, response) => {
      const said = { error: { message: `No access with ${request.headers.authorization}` } };
      response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(said));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const embedding = { base_url, model: 'demo', api_key: 'canary-of-the-operator' };
    const refused = await startTestInstallation({ worker: false, setting: { embeddings: embedding } });
    try {
      const one = await item(await source({}, refused), 'Trains.', {}, refused);
      expect(one.last_error).toContain('[redacted]');
      const found = await query({ query: 'trains' }, refused);
      expect(JSON.stringify([one, found])).not.toContain(embedding.api_key);
    } finally {
      await refused.stop();
      server.close();
    }
  });

  it('stores an item while the endpoint is down, and embeds it when it is saved again', async () => {
    let is_down = true;
    let embedded = 0;
    const server = createServer(async (request, response) => {
      const body = await text(request);
      if (is_down) return void response.writeHead(400).end();
      embedded += 1;
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(`${embeddings.url}/embeddings`, { method: 'POST', headers, body });
      response.writeHead(answer.status, headers).end(await answer.text());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const down = await startTestInstallation({
      worker: false,
      setting: { embeddings: { base_url, model: 'demo', api_key: null } },
    });
    try {
      const one = await item(await source({}, down), 'Trains.', {}, down);
      expect(one).toMatchObject({ status: 'text_only', last_error: expect.stringContaining('does not serve') });
      expect((await query({ query: 'trains' }, down)).items).toMatchObject([{ vector_score: null }]);
      is_down = false;
      const redescribe = (description: string) =>
        down.alice.ok(down.alice.put(`/api/knowledge-items/${one.id}`, { description }));
      expect(await redescribe('again')).toMatchObject({ status: 'indexed', last_error: null });
      expect((await query({ query: 'trains' }, down)).items).toMatchObject([{ vector_score: expect.any(Number) }]);
      // An item that has its vectors keeps them while its text stays.
      const before = embedded;
      expect(await redescribe('and again')).toMatchObject({ status: 'indexed', description: 'and again' });
      expect(embedded).toBe(before);
    } finally {
      await down.stop();
      server.close();
    }
  });
});

describe('sources elsewhere', () => {
  it('searches a Qdrant collection with the key of a stored token, which nobody sees', async () => {
    const { alice } = here;
    const seen: { url: string | undefined; key: unknown; body: { limit: number; query: number[] } }[] = [];
    const server = createServer((request, response) => {
      let text = '';
      request.on('data', (part) => (text += part));
      request.on('end', () => {
        seen.push({ url: request.url, key: request.headers['api-key'], body: JSON.parse(text) });
        const points = [{ id: 1, score: 0.9, payload: { text: 'Otters hold hands', name: 'Otters' } }];
        response.setHeader('content-type', 'application/json').end(JSON.stringify({ result: { points } }));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      await alice.ok(alice.post('/api/tokens', { name: 'qdrant', value: 'CANARY' }), 201);
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const connection_config = { url, collection: 'animals', api_key: '{{token:qdrant}}' };
      const id = await source({ source_type: 'vector_db', connection_config });
      const found = await query({ query: 'otters', source_ids: [id] });
      expect(found.items).toMatchObject([
        { item_id: null, source_id: id, name: 'Otters', content: 'Otters hold hands', score: 0.9 },
      ]);
      expect(seen[0]).toMatchObject({ url: '/collections/animals/points/query', key: 'CANARY', body: { limit: 10 } });
      expect(seen[0]?.body.query.length).toBeGreaterThan(10);
      expect(await alice.ok(alice.post(`/api/knowledge-sources/${id}/test`))).toMatchObject({ success: true });
      expect((await alice.get(`/api/knowledge-sources/${id}`)).body).toMatchObject({ status: 'connected' });
    } finally {
      server.close();
    }
    const broken = await source({
      source_type: 'pgvector',
      connection_config: { url: 'postgres://u:CANARY@127.0.0.1:1/x', table: 't' },
    });
    const tested = await alice.ok(alice.post(`/api/knowledge-sources/${broken}/test`));
    expect(tested).toMatchObject({ success: false, error: expect.any(String) });
    const shown = await alice.ok(alice.get(`/api/knowledge-sources/${broken}`));
    expect(shown).toMatchObject({ status: 'error', connection_config: { url: '********' } });
    expect(JSON.stringify([tested, shown, await query({ query: 'x' })])).not.toContain('CANARY');
  });

  it.each([
    ['vector_db', { url: 'http://169.254.169.254', collection: 'meta' }],
    ['pgvector', { url: 'postgres://u:p@10.255.255.1/x', table: 't' }],
  ])('does not reach private addresses: %s', async (source_type, connection_config) => {
    const id = await source({ source_type, connection_config });
    const tested = await here.alice.ok(here.alice.post(`/api/knowledge-sources/${id}/test`));
    expect(tested).toMatchObject({ success: false, error: expect.stringContaining('not allowed from here') });
  });
});
