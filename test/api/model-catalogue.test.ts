import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { newestDay, replaceKnownModels, SHIPPED_MODELS } from '../../src/domain/known-models.ts';
import { keepModelCatalogue } from '../../src/main/wiring/model-catalogue.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { knownModel } from '../support/known-model.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
let peer: Server;
let served = '';
const log: string[] = [];
beforeAll(async () => {
  here = await startTestInstallation({
    worker: false,
    env: { ADMIN_SUBJECTS: 'local:bob', EGRESS_ALLOW: '127.0.0.1' },
    log: (line) => log.push(line),
  });
  peer = createServer((request, response) => {
    if (request.url?.startsWith('/missing')) return response.writeHead(404).end();
    if (request.url?.startsWith('/moved')) return response.writeHead(302, { location: 'http://169.254.169.254/' }).end();
    response.end(served);
  });
  await new Promise<void>((done) => peer.listen(0, '127.0.0.1', done));
});
afterAll(async () => {
  replaceKnownModels(SHIPPED_MODELS);
  peer.close();
  await here.stop();
});
beforeEach(async () => {
  await here.sql('DELETE FROM model_catalogue');
  await here.core.model_catalogue.refresh();
});

const PATH = '/api/models/catalogue';
const RELEASE = newestDay(SHIPPED_MODELS);
const later = (days: number) => new Date(Date.parse(RELEASE) + days * 86_400_000).toISOString().slice(0, 10);
const fileOf = (...models: object[]) => JSON.stringify({ format: 1, models });
const model = (facts: Parameters<typeof knownModel>[0]) => knownModel({ as_of: later(1), ...facts });
const digestOf = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`;
const shown = async () => (await here.alice.ok(here.alice.get(PATH))) as Record<string, any>;
const put = (body: object) => here.bob.post(PATH, body);

it('is that of the release until an administrator replaces it', async () => {
  expect(await shown()).toMatchObject({ from: 'release', as_of: RELEASE, digest: null, source: null, updated_by: null });
  expect((await shown()).models).toHaveLength(SHIPPED_MODELS.length);
  const text = fileOf(model({ id: 'm-7', price: { input: 3, output: 5 } }));
  const replaced = await here.bob.ok(put({ text, file_name: 'models.json' }));
  const facts = { from: 'update', as_of: later(1), digest: digestOf(text), source: 'models.json', updated_by: 'local:bob' };
  expect(replaced).toMatchObject(facts);
  expect(await shown()).toMatchObject({ ...facts, models: [{ id: 'm-7', vendor: 'openai', price: { input: 3, output: 5 } }] });
});

it('is replaced by administrators only', async () => {
  const refused = await here.alice.post(PATH, { text: fileOf(model({})) });
  expect(refused).toMatchObject({ status: 403, body: { detail: expect.stringContaining('ask an administrator') } });
  expect((await shown()).from).toBe('release');
});

it('is that of the release again once an administrator has reset it, in every process', async () => {
  await here.bob.ok(put({ text: fileOf(model({ id: 'm-7' })) }));
  const refused = await here.alice.del(PATH);
  expect(refused).toMatchObject({ status: 403, body: { detail: expect.stringContaining('ask an administrator') } });
  expect((await shown()).models).toMatchObject([{ id: 'm-7' }]);
  const other = await keepModelCatalogue({ store: here.core.store, log: () => {} });
  onTestFinished(() => other.stop());
  expect(other.inUse()).toMatchObject({ from: 'update' });
  const released = { from: 'release', as_of: RELEASE, digest: null, source: null, updated_by: null, updated_at: null };
  const stale = await here.bob.send('DELETE', PATH, { headers: { 'if-match': '"stale"' } });
  expect([stale.status, (await shown()).from]).toEqual([412, 'update']);
  const reset = await here.bob.ok(here.bob.del(PATH));
  expect(reset).toMatchObject(released);
  expect(reset.models).toHaveLength(SHIPPED_MODELS.length);
  await other.refresh();
  expect(other.inUse()).toMatchObject(released);
  expect(await here.bob.ok(here.bob.del(PATH))).toMatchObject(released);
  // An older one is refused as before the first update.
  expect((await put({ text: fileOf(model({ as_of: later(-1) })) })).status).toBe(409);
});

it('counts for the lists of models at once', async () => {
  const provider = { name: 'windows', provider_type: 'openai_compatible', base_url: here.model.url };
  const { id } = await here.alice.ok(here.alice.post('/api/providers', provider), 201);
  const listed = async () => (await here.alice.ok(here.alice.get(`/api/models?provider_id=${id}`))) as Record<string, any>[];
  const [first] = await listed();
  await here.bob.ok(put({ text: fileOf(model({ id: first!.id, context_window: 7_919 })) }));
  expect((await listed())[0]).toMatchObject({ id: first!.id, context_window: 7_919, context_window_from: 'known' });
});

it('is refused as a whole, with every place that is wrong', async () => {
  const wrong = [model({ id: 'm-7' }), { ...model({ id: 'm-8' }), price: { input: -1, output: 'much' } }, model({ id: 'm-7' })];
  const refused = await put({ text: fileOf(...wrong) });
  expect(refused).toMatchObject({
    status: 422,
    body: { errors: [{ path: 'models.1.price.input' }, { path: 'models.1.price.output' }] },
  });
  const twice = await put({ text: fileOf(model({ id: 'm-7' }), model({ id: 'm-8', aliases: ['M-7'] })) });
  expect(twice.body.errors).toEqual([{ path: 'models.1', message: 'M-7 of openai is named twice' }]);
  expect((await put({ text: '{"format": 1' })).body.errors).toEqual([
    { path: 'text', message: 'The file is not valid JSON in UTF-8' },
  ]);
  expect((await put({ text: '{"format": 2, "models": []}' })).body.errors).toMatchObject([
    { path: 'format' },
    { path: 'models' },
  ]);
  expect((await shown()).from).toBe('release');
});

it('takes a file or an address, not both and not neither', async () => {
  const both = { text: fileOf(model({})), url: 'http://models.example/' };
  expect(await put(both)).toMatchObject({ status: 422, body: { errors: [{ path: 'text' }] } });
  expect(await put({})).toMatchObject({ status: 422, body: { errors: [{ path: 'text' }] } });
});

it('must have the digest that is required', async () => {
  const text = fileOf(model({}));
  const other = digestOf(`${text} `);
  const refused = await put({ text, digest: other });
  expect(refused).toMatchObject({ status: 422, body: { errors: [{ path: 'digest' }] } });
  expect(refused.body.detail).toContain(digestOf(text));
  expect((await shown()).from).toBe('release');
  await here.bob.ok(put({ text, digest: digestOf(text) }));
});

it('is refused if it is older than the one in use, unless it is forced', async () => {
  await here.bob.ok(put({ text: fileOf(model({ id: 'm-7', as_of: later(1) })) }));
  const older = fileOf(model({ id: 'm-5', as_of: later(0) }));
  expect(await put({ text: older })).toMatchObject({ status: 409, body: { code: 'catalogue_older' } });
  expect((await shown()).models).toMatchObject([{ id: 'm-7' }]);
  await here.bob.ok(put({ text: fileOf(model({ id: 'm-6', as_of: later(1) })) }));
  await here.bob.ok(put({ text: older, force: true }));
  expect((await shown()).models).toMatchObject([{ id: 'm-5' }]);
});

it('may be older than the release only if it is forced, also after an upgrade', async () => {
  const older = fileOf(model({ id: 'm-5', as_of: later(-1) }));
  expect((await put({ text: older })).status).toBe(409);
  await here.bob.ok(put({ text: older, force: true }));
  expect((await shown()).from).toBe('update');
  await here.sql('UPDATE model_catalogue SET is_forced = false, updated_at = now()');
  expect((await shown()).from).toBe('release');
});

it('is marked as forced only if it had to be', async () => {
  const isForced = async () => (await here.sql('SELECT is_forced FROM model_catalogue'))[0].is_forced;
  await here.bob.ok(put({ text: fileOf(model({ as_of: later(1) })), force: true }));
  expect(await isForced()).toBe(false);
  await here.bob.ok(put({ text: fileOf(model({ as_of: later(0) })), force: true }));
  expect(await isForced()).toBe(true);
  await here.bob.ok(put({ text: fileOf(model({ as_of: later(0) })) }));
  expect(await isForced()).toBe(false);
  await here.bob.ok(put({ text: fileOf(model({ as_of: later(-3) })), force: true }));
  await here.bob.ok(put({ text: fileOf(model({ id: 'm-11', as_of: later(-2) })) }));
  expect(await isForced()).toBe(true);
  expect(await shown()).toMatchObject({ from: 'update', as_of: later(-2), models: [{ id: 'm-11' }] });
  expect((await put({ text: fileOf(model({ as_of: later(-3) })) })).status).toBe(409);
});

it('has no entry of a day to come, except of tomorrow', async () => {
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
  const refused = await put({ text: fileOf(model({ id: 'm-7' }), model({ id: 'm-8', as_of: inDays(2) })), force: true });
  const message = `${inDays(2)} is in the future; enter the day on which the source had these facts`;
  expect(refused).toMatchObject({ status: 422, body: { errors: [{ path: 'models.1.as_of', message }] } });
  expect((await shown()).from).toBe('release');
  expect((await put({ text: fileOf(model({ id: 'm-7', as_of: inDays(1) })) })).status).toBe(200);
});

it('is compared with the one that another administrator stores at the same time', async () => {
  await here.bob.ok(put({ text: fileOf(model({ id: 'm-5', as_of: later(0) })) }));
  const other = await here.core.database.pool.connect();
  await other.query('BEGIN');
  await other.query('UPDATE model_catalogue SET as_of = $1, digest = $2, updated_at = now()', [later(1), 'sha256:newer']);
  const older = put({ text: fileOf(model({ id: 'm-3', as_of: later(0) })) });
  await until('the wait for the other one', async () => {
    const waiting = await here.sql(
      `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%model_catalogue%'`,
    );
    return waiting.length > 0;
  });
  await other.query('COMMIT');
  other.release();
  const detail = `Its newest entry is of ${later(0)}, older than the catalogue in use (${later(1)}); to use it, force it`;
  expect(await older).toMatchObject({ status: 409, body: { detail } });
  expect(await shown()).toMatchObject({ as_of: later(1), digest: 'sha256:newer', models: [{ id: 'm-5' }] });
});

it('is fetched from an address by the rules for addresses, and shows no secret of the address', async () => {
  const { port } = peer.address() as AddressInfo;
  const at = (path: string) => `http://127.0.0.1:${port}${path}`;
  served = fileOf(model({ id: 'm-7' }));
  const replaced = await here.bob.ok(put({ url: at('/catalogue.json?key=hidden') }));
  expect(replaced).toMatchObject({ digest: digestOf(served), source: at('/catalogue.json'), models: [{ id: 'm-7' }] });
  expect(await put({ url: at('/missing?key=hidden') })).toMatchObject({
    status: 502,
    body: { code: 'catalogue_unavailable', detail: `The catalogue could not be fetched from ${at('/missing')}: it answered 404` },
  });
  expect(await put({ url: at('/moved') })).toMatchObject({ status: 502, body: { detail: expect.stringContaining('169.254') } });
  served = `${' '.repeat(900_000)}${served}`;
  expect((await put({ url: at('/large') })).body.detail).toContain('more than 900000 bytes');
  expect((await shown()).models).toMatchObject([{ id: 'm-7' }]);
});

it('stays what it is if the stored one cannot be read, and reports it once', async () => {
  await here.bob.ok(put({ text: fileOf(model({ id: 'm-7' })) }));
  await here.sql(`UPDATE model_catalogue SET models = '[{"id": 7}]', updated_at = now() + interval '1 second'`);
  await here.core.model_catalogue.refresh();
  await here.core.model_catalogue.refresh();
  expect((await shown()).models).toMatchObject([{ id: 'm-7' }]);
  expect(log.filter((line) => line.includes('The stored catalogue of models is not valid'))).toHaveLength(1);
});

it('is taken over from what another process stored', async () => {
  const models = JSON.stringify([model({ id: 'm-13' })]);
  await here.sql(
    `INSERT INTO model_catalogue (models, digest, as_of, is_forced, source, updated_by) VALUES ($1, 'sha256:x', $2, false, 'elsewhere', 'local:x')`,
    models,
    later(1),
  );
  await here.core.model_catalogue.refresh();
  expect(here.core.model_catalogue.inUse()).toMatchObject({ source: 'elsewhere', models: [{ id: 'm-13' }] });
});
