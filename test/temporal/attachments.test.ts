import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sweep } from '../../src/temporal/repair/retention.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { startCompatibleVendor } from '../support/peers/compatible-vendor.ts';
import { startHttpMcpServer } from '../support/peers/http-mcp-server.ts';
import { asks, fails, says } from '../support/peers/model-server.ts';
import * as vendors from '../support/peers/vendor-rules.ts';
import { GIF, JPEG, PDF, PNG, WEBP } from '../support/runs/attachments.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation({
    env: { ATTACHMENT_MAX_MB: '0.01', ATTACHMENTS_MAX_MB: '0.015', ATTACHMENTS_PER_PROMPT: '3' },
  });
  here.model.always(says('Seen.'));
});
afterAll(() => here?.stop());

const formOf = (name: string, type: string, content: string | Uint8Array) => {
  const form = new FormData();
  form.set('file', new File([Buffer.from(content)], name, { type }));
  return form;
};
const upload = (name: string, type: string, content: string | Uint8Array, by = here.alice) =>
  by.post('/api/attachments', formOf(name, type, content));
const uploaded = async (...[name, type, content]: [string, string, string | Uint8Array]) =>
  (await here.alice.ok(upload(name, type, content), 201)) as { id: string };
const urlOf = (type: string, content: Uint8Array | string) => `data:${type};base64,${Buffer.from(content).toString('base64')}`;
const promptsOf = (workflow_id: string, body: object, by = here.alice) => by.post(`/api/workflows/${workflow_id}/prompt`, body);
/** What the model was given with the prompt last. */
const given = () => here.model.requests.at(-1)!.messages.find(({ role }) => role === 'user')?.content as unknown;

describe('a run whose MCP server returns files', () => {
  let server_id: string;
  let stop: () => Promise<void>;
  const SOUND = Buffer.from('RIFF....WAVEfmt ');
  beforeAll(async () => {
    const peer = await startHttpMcpServer('camera', (mcp) => {
      mcp.registerTool('shoot', {}, async () => ({
        content: [
          { type: 'text', text: 'A cat:' },
          { type: 'image', data: PNG.toString('base64'), mimeType: 'image/png' },
          { type: 'audio', data: SOUND.toString('base64'), mimeType: 'audio/wav' },
          { type: 'resource', resource: { uri: 'file:///tmp/a%20b.zip', mimeType: 'application/zip', blob: 'UEsDBA==' } },
          { type: 'image', data: Buffer.alloc(20_000, 1).toString('base64'), mimeType: 'image/png' },
        ],
      }));
    });
    stop = peer.stop;
    const server = { name: 'camera', transport_type: 'http', connection_config: { url: peer.url } };
    server_id = (await here.alice.ok(here.alice.post('/api/mcps', server))).id;
  });
  afterAll(() => stop());
  const NAMES = ['image-1.png', 'audio-2.wav', 'a b.zip'];
  const SHOWN_IMAGE = { type: 'image_url', image_url: { url: urlOf('image/png', PNG) } };
  const SHOWN_SOUND = { type: 'input_audio', input_audio: { data: SOUND.toString('base64'), format: 'wav' } };
  const shown = () =>
    here.model.requests
      .at(-1)!
      .messages.flatMap(({ content }) => (Array.isArray(content) ? (content as { type: string }[]) : []))
      .filter(({ type }) => type !== 'text');
  const filesOf = async (workflow_id: string) => {
    const { logs } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
    return logs.find(({ event }: { event: string }) => event === 'tool_result').files as { id: string; name: string }[];
  };

  it('shows images and sounds to the model, and keeps all of them for the owner of the run', async () => {
    const workflow_id = await here.workflow({ agent: { mcp_server_ids: [server_id], model: crypto.randomUUID() } });
    here.model.script(asks({ name: 'shoot' }), says('A cat.'));
    expect(await here.ended(await here.prompt(workflow_id))).toMatchObject({ status: 'completed', response: 'A cat.' });
    expect(shown()).toEqual([SHOWN_IMAGE, SHOWN_SOUND]);
    const result = here.model.requests.at(-1)!.messages.find(({ role }) => role === 'tool')?.content;
    expect(result).toMatch(
      /^A cat:\n\[image, image-1\.png: image\/png, \d+ bytes\]\n\[audio, audio-2\.wav: audio\/wav, 16 bytes\]/,
    );
    expect(result).toMatch(/\[image-4\.bin was not kept: it is larger than 0\.01 MiB \(ATTACHMENT_MAX_MB\)\]$/);
    const files = await filesOf(workflow_id);
    expect(files.map(({ name }) => name)).toEqual(NAMES);
    const image = await here.alice.get(`/api/attachments/${files[0]!.id}/content`);
    expect(image.status).toBe(200);
    expect((await here.bob.get(`/api/attachments/${files[0]!.id}/content`)).status).toBe(404);
    expect((await here.bob.get(`/api/attachments/${files[0]!.id}`)).status).toBe(404);
    expect((await here.alice.send('DELETE', `/api/attachments/${files[0]!.id}`)).status).toBe(409);
  });

  it('shows a fork the files of its source, copied and from the record, to another provider too', async () => {
    const workflow_id = await here.workflow({ agent: { mcp_server_ids: [server_id], model: crypto.randomUUID() } });
    here.model.script(asks({ name: 'shoot' }), says('A cat.'));
    const task_id = await here.prompt(workflow_id);
    await here.ended(task_id);
    const files = await filesOf(workflow_id);
    const values = { provider_type: 'openai_compatible', base_url: here.model.url, default_model: 'other' };
    await here.alice.ok(here.alice.post('/api/tokens', { name: 'other-key', value: 'canary-other-key' }));
    const provider = { name: crypto.randomUUID(), api_key_token_name: 'other-key', ...values };
    const { id: provider_id } = await here.alice.ok(here.alice.post('/api/providers', provider), 201);
    for (const order of [{ from_step: 2 }, { from_step: 2, changes: { provider_id } }, { from_step: 1 }]) {
      here.model.script(...(order.from_step === 1 ? [asks({ name: 'shoot' })] : []), says('Still a cat.'));
      const fork = await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/fork`, order), 201);
      expect(await here.ended(fork.task_id)).toMatchObject({ status: 'completed', response: 'Still a cat.' });
      expect(shown(), JSON.stringify(order)).toEqual([SHOWN_IMAGE, SHOWN_SOUND]);
    }
    expect(await filesOf(workflow_id)).toEqual(files);
  });

  it('asks a model that takes no sounds or no images again without them, and remembers it for the run', async () => {
    const workflow_id = await here.workflow({ agent: { mcp_server_ids: [server_id], model: crypto.randomUUID() } });
    here.model.script(
      asks({ name: 'shoot' }),
      fails(400, { message: 'no audio' }),
      fails(400, { message: 'no images' }),
      asks({ name: 'shoot' }),
      says('Still blind.'),
    );
    expect(await here.ended(await here.prompt(workflow_id))).toMatchObject({ status: 'completed', response: 'Still blind.' });
    expect(shown()).toEqual([]);
    here.model.script(asks({ name: 'shoot' }), says('A cat.'));
    expect(await here.ended(await here.prompt(workflow_id))).toMatchObject({ status: 'completed', response: 'A cat.' });
    expect(shown()).toEqual([SHOWN_IMAGE, SHOWN_SOUND]);
    expect((await filesOf(workflow_id)).map(({ name }) => name)).toEqual(NAMES);
  });
});

describe('a run that is given files', () => {
  it('sends images and PDF files to the model, and texts in its prompt', async () => {
    const id = await here.workflow();
    const image = await uploaded('cat.png', 'image/png', PNG);
    const notes = await uploaded('notes.md', '', '# Notes\nBuy milk.');
    expect(notes).toMatchObject({ name: 'notes.md', media_type: 'text/markdown', size: 17 });
    const inline = { name: 'bill.pdf', data: urlOf('application/pdf', PDF) };
    const task_id = await here.prompt(id, 'What is this?', { attachments: [{ id: image.id }, { id: notes.id }, inline] });
    const task = await here.ended(task_id);
    expect(task).toMatchObject({ status: 'completed', prompt: 'What is this?' });
    expect(task.attachments).toEqual([
      { ...image, media_type: 'image/png', size: PNG.length, sha256: createHash('sha256').update(PNG).digest('hex') },
      notes,
      expect.objectContaining({ name: 'bill.pdf', media_type: 'application/pdf', size: PDF.length }),
    ]);
    expect(given()).toEqual([
      { type: 'text', text: 'What is this?\n\n<file name="notes.md">\n# Notes\nBuy milk.\n</file>' },
      { type: 'image_url', image_url: { url: urlOf('image/png', PNG) } },
      { type: 'file', file: { filename: 'bill.pdf', file_data: urlOf('application/pdf', PDF) } },
    ]);
    const { rows } = await here.core.database.pool.query('SELECT data::text FROM events WHERE task_id = $1', [task_id]);
    expect(rows.some(({ data }) => data.includes('cat.png'))).toBe(true);
    expect(JSON.stringify(rows)).not.toContain(PNG.toString('base64').slice(0, 20));
  });

  it('sends them to Anthropic as its own blocks, with each step', async () => {
    const vendor = await startCompatibleVendor(vendors.anthropic);
    try {
      await here.alice.ok(here.alice.post('/api/tokens', { name: 'vendor-key', value: 'canary-vendor-key' }));
      const values = { provider_type: 'anthropic_messages', base_url: vendor.url, default_model: 'claude-sonnet-5' };
      const provider = { name: crypto.randomUUID(), api_key_token_name: 'vendor-key', ...values };
      const { id: provider_id } = await here.alice.ok(here.alice.post('/api/providers', provider), 201);
      const id = await here.workflow({ agent: { provider_id, model: null } });
      const attachments = [{ data: urlOf('image/webp', WEBP) }, { name: 'bill.pdf', data: urlOf('', PDF) }];
      expect(await here.ended(await here.prompt(id, 'Look.', { attachments }))).toMatchObject({ status: 'completed' });
      expect(vendor.requests.at(-1)!.messages).toEqual([
        {
          role: 'user',
          content: [
            { type: 'image', source: { type: 'base64', media_type: 'image/webp', data: WEBP.toString('base64') } },
            {
              ...{ type: 'document', title: 'bill.pdf' },
              source: { type: 'base64', media_type: 'application/pdf', data: PDF.toString('base64') },
            },
            { type: 'text', text: 'Look.' },
          ],
        },
      ]);
    } finally {
      await vendor.stop();
    }
  });

  it('fails with the words of a model that takes no images', async () => {
    const id = await here.workflow();
    here.model.script(fails(400, { message: 'this model does not support image input' }));
    const task = await here.ended(await here.prompt(id, 'Look.', { attachments: [{ data: urlOf('image/gif', GIF) }] }));
    expect(task).toMatchObject({ status: 'failed', error: expect.stringContaining('does not support image input') });
  });

  it('is refused images where the conversation is kept by the vendor', async () => {
    const provider = { name: 'sessions', provider_type: 'anthropic', default_model: 'claude-test' };
    const { id: provider_id } = await here.alice.ok(here.alice.post('/api/providers', provider), 201);
    const id = await here.workflow({ agent: { provider_id, model: null } });
    const refused = await promptsOf(id, { prompt: 'x', attachments: [{ name: 'a.jpg', data: urlOf('image/jpg', JPEG) }] });
    expect(refused).toMatchObject({ status: 422, body: { code: 'attachments_not_supported' } });
    expect(refused.body.errors[0]).toMatchObject({ path: 'attachments.0', message: expect.stringContaining('a.jpg') });
  });

  it('keeps them in forks, and guardrails read the texts among them', async () => {
    const id = await here.workflow();
    const attachments = [{ name: 'plan.txt', data: urlOf('text/plain', 'the secret plan') }, { data: urlOf('image/png', PNG) }];
    const task_id = await here.prompt(id, 'Read.', { attachments });
    const source = await here.ended(task_id);
    const fork = await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/fork`, { from_step: 1, prompt: 'Again.' }), 201);
    expect((await here.ended(fork.task_id)).attachments).toEqual(source.attachments);
    expect(JSON.stringify(given())).toContain('the secret plan');
    expect(JSON.stringify(given())).toContain('data:image/png');
    const bundle = await here.alice.ok(here.alice.get(`/api/tasks/${task_id}/bundle`));
    expect(bundle.task.attachments).toEqual(source.attachments);

    const config = { forbidden_patterns: ['secret plan'] };
    const { id: guardrail } = await here.alice.ok(
      here.alice.post('/api/guardrails', { name: 'plans', guardrail_type: 'prompt', config }),
      201,
    );
    await here.alice.ok(here.alice.put(`/api/workflows/${id}`, { guardrail_ids: [guardrail] }));
    const refused = await promptsOf(id, { prompt: 'Read.', attachments });
    expect(refused).toMatchObject({ status: 422, body: { errors: [{ path: 'attachments.0' }] } });
    expect((await here.alice.post(`/api/tasks/${task_id}/fork`, { from_step: 1 })).status).toBe(422);
  });
});

describe('files', () => {
  it('are downloaded by their owner only, as a file that no browser shows as a page', async () => {
    const { id } = await uploaded('<b>"cat"</b>.png', 'image/png', PNG);
    const answer = await fetch(`${here.url}/api/attachments/${id}/content`, {
      headers: { authorization: 'Bearer token-of-alice' },
    });
    expect(Buffer.from(await answer.arrayBuffer())).toEqual(PNG);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'image/png',
      'content-disposition': "attachment; filename*=UTF-8''b%3E.png",
      'content-security-policy': expect.stringContaining('sandbox'),
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    });
    expect((await here.bob.get(`/api/attachments/${id}`)).status).toBe(404);
    expect((await here.bob.get(`/api/attachments/${id}/content`)).status).toBe(404);
    expect((await here.bob.del(`/api/attachments/${id}`)).status).toBe(404);
    const theirs = (
      await here.bob.ok(here.bob.post('/api/workflows', { agent_id: (await here.alice.get('/api/agents')).body[0].id }), 201)
    ).id;
    const refused = await promptsOf(theirs, { prompt: 'x', attachments: [{ id }] }, here.bob);
    expect(refused).toMatchObject({ status: 404, body: { detail: `No attachment with id ${id}` } });
    expect((await here.alice.del(`/api/attachments/${id}`)).status).toBe(204);
    expect((await here.alice.get(`/api/attachments/${id}`)).status).toBe(404);
  });

  it.each([
    ['a PNG that is declared as JPEG', 'x.jpg', 'image/jpeg', PNG, 422, 'media_type_mismatch'],
    ['a text that is declared as PDF', 'x.pdf', 'application/pdf', 'hello', 422, 'media_type_mismatch'],
    ['an image that is declared as text', 'x.txt', 'text/plain', GIF, 422, 'media_type_mismatch'],
    ['a drawing that browsers run', 'x.svg', 'image/svg+xml', '<svg/>', 422, 'unsupported_media_type'],
    ['a program', 'x', '', Buffer.from('7f454c46020101000000', 'hex'), 422, 'unsupported_media_type'],
    ['nothing', 'x.txt', 'text/plain', '', 422, 'empty_attachment'],
    ['too much', 'x.txt', 'text/plain', 'x'.repeat(11_000), 413, 'attachment_too_large'],
  ] as const)('are refused: %s', async (_, name, type, content, status, code) => {
    expect(await upload(name, type, content)).toMatchObject({ status, body: { code } });
  });

  it('are refused beyond the limits of a prompt, and then none is stored', async () => {
    const id = await here.workflow();
    const stored = async () => (await here.core.database.pool.query('SELECT count(*)::int AS n FROM attachments')).rows[0].n;
    const before = await stored();
    const small = { data: urlOf('text/plain', 'x') };
    const large = { data: urlOf('text/plain', 'x'.repeat(9_000)) };
    const send = (...attachments: object[]) => promptsOf(id, { prompt: 'x', attachments });
    expect(await send(small, small, small, small)).toMatchObject({ status: 422, body: { code: 'too_many_attachments' } });
    expect(await send(large, large)).toMatchObject({ status: 413, body: { code: 'attachments_too_large' } });
    expect(await send(small, { data: urlOf('image/png', 'x') })).toMatchObject({
      ...{ status: 422, body: { code: 'media_type_mismatch', errors: [{ path: 'attachments.1' }] } },
    });
    expect((await send({ data: 'data:image/png;base64,%%%' })).body.code).toBe('invalid_attachment');
    expect((await send({ id: crypto.randomUUID(), data: small.data })).status).toBe(422);
    expect((await send({ data: 'https://example.com/cat.png' })).status).toBe(422);
    expect(await stored()).toBe(before);
  });

  it('stay as long as a task refers to them, otherwise for a day', async () => {
    const id = await here.workflow();
    const [used, unused] = [await uploaded('used.txt', '', 'used'), await uploaded('unused.txt', '', 'unused')];
    const task_id = await here.prompt(id, 'x', { attachments: [{ id: used.id }] });
    await here.ended(task_id);
    expect(await here.alice.del(`/api/attachments/${used.id}`)).toMatchObject({
      status: 409,
      body: { code: 'attachment_in_use' },
    });
    const sweptAfter = (hours: number) =>
      sweep(here.core.store.retention.transient(new Date(Date.now() + hours * 3_600_000)), 10_000);
    const exists = async (file: { id: string }) => (await here.alice.get(`/api/attachments/${file.id}`)).status === 200;
    await sweptAfter(23);
    expect([await exists(used), await exists(unused)]).toEqual([true, true]);
    await sweptAfter(25);
    expect([await exists(used), await exists(unused)]).toEqual([true, false]);
    await here.alice.ok(here.alice.del(`/api/workflows/${id}`), 204);
    await sweptAfter(25);
    expect(await exists(used)).toBe(false);
  });
});
