import { createHash } from 'node:crypto';
import { afterEach, expect, it } from 'vitest';
import { newestDay, replaceKnownModels, SHIPPED_MODELS } from '../../src/domain/known-models.ts';
import { createModelCatalogueService, keepModelCatalogue } from '../../src/main/wiring/model-catalogue.ts';
import { knownModel } from '../support/known-model.ts';

afterEach(() => replaceKnownModels(SHIPPED_MODELS));

/** Updates the catalogue of an installation; `body`: what an address answers, null: nothing. */
async function update(asked: object, body: string | null = null) {
  let stored: { as_of: string; digest: string } | null = null;
  const modelCatalogue = {
    findMark: async () => stored?.digest ?? null,
    find: async () => stored && { ...stored, is_forced: false, updated_at: new Date(0) },
    replace: async (catalogue: { as_of: string; digest: string }) => {
      stored = catalogue;
      return true;
    },
  };
  const store = { modelCatalogue } as never;
  const keeper = await keepModelCatalogue({ store, log: () => {} });
  const fetch = async () => new Response(body, { status: body === null ? 204 : 200 });
  const service = createModelCatalogueService({ store, keeper, fetch });
  try {
    return await service.update({ force: false, ...asked } as never, 'local:ann').catch((error: Error) => error);
  } finally {
    keeper.stop();
  }
}

const text = JSON.stringify({ format: 1, models: [knownModel({ id: 'm-7', as_of: newestDay(SHIPPED_MODELS) })] });
const digest = `sha256:${createHash('sha256').update(text).digest('hex')}`;

it('a catalogue is stored if it has the digest that is asked for', async () => {
  const url = 'https://models.example/7.json?key=hidden';
  const facts = { from: 'update', digest, updated_by: 'local:ann', models: [{ id: 'm-7' }] };
  expect(await update({ text, digest })).toMatchObject({ ...facts, source: 'a file' });
  expect(await update({ url, digest }, text)).toMatchObject({ ...facts, source: 'https://models.example/7.json' });
  expect(await update({ text: `${text} `, digest })).toMatchObject({
    errors: [{ path: 'digest', message: expect.stringContaining(`not ${digest}; nothing was changed`) }],
  });
});

it('a catalogue is refused if it is empty or not an object', async () => {
  const invalid = { errors: [{ path: 'text', message: 'The file is not valid JSON in UTF-8' }] };
  expect(await update({ url: 'https://models.example/7.json' })).toMatchObject(invalid);
  expect(await update({ text: '[]' })).toMatchObject({ errors: [{ path: 'text', message: expect.stringContaining('object') }] });
});
