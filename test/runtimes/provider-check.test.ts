import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterEach, describe, expect, it } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import { replaceKnownModels, SHIPPED_MODELS } from '../../src/domain/known-models.ts';
import { OutageError } from '../../src/domain/outages.ts';
import { redactor } from '../../src/domain/redaction.ts';
import { modelLister } from '../../src/runtimes/model-lists.ts';
import { checkProvider } from '../../src/runtimes/provider-check.ts';
import { knownModel } from '../support/known-model.ts';
import { providerOf } from './support.ts';

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

const openai = (fetch: Fetch, baseURL = 'http://models.test/v1') =>
  new OpenAI({ apiKey: 'key', baseURL, maxRetries: 0, timeout: 20, fetch: fetch as typeof globalThis.fetch });
const anthropic = (fetch: Fetch) =>
  new Anthropic({
    apiKey: 'key',
    baseURL: 'http://models.test',
    maxRetries: 0,
    timeout: 20,
    fetch: fetch as typeof globalThis.fetch,
  });

const breaks = (code: string) => async () => Promise.reject(Object.assign(new Error(`it broke: ${code}`), { code }));
const never: Fetch = (_, { signal }) =>
  new Promise((__, reject) => signal!.addEventListener('abort', () => reject(signal!.reason)));
const listed = (...data: object[]) => Response.json({ object: 'list', data });
const refused = (status: number, message: string) => Response.json({ error: { message } }, { status });
const chat = (message: object, finish_reason: string) => Response.json({ choices: [{ index: 0, message, finish_reason }] });

/** An endpoint that has the model `small`, and answers to `first` and then to `others`. */
function asked(first: Response, ...others: Response[]): Fetch {
  const answers = [first, ...others];
  return async (url) => (url.endsWith('/models') ? listed({ id: 'small' }) : answers.shift()!);
}

describe('a provider that cannot be asked is reported with a remedy:', () => {
  it.each<[string, OpenAI | Anthropic, RegExp]>([
    [
      'http where TLS is expected',
      openai(breaks('ECONNRESET')),
      /^models\.test closed the connection .* begins with https:\/\/ if/,
    ],
    [
      'TLS where http is expected',
      openai(breaks('UND_ERR_SOCKET'), 'https://models.test:1/v1'),
      /^models\.test:1 closed the connection .* begins with http:\/\/ if/,
    ],
    [
      'a host without a way to it',
      openai(breaks('EHOSTUNREACH')),
      /^models\.test does not answer: check base_url, and that a firewall/,
    ],
    ['silence', openai(never), /^models\.test does not answer: check base_url/],
    ["silence of Anthropic's API", anthropic(never), /^models\.test does not answer: check base_url/],
    ['another failure, in its own words', openai(breaks('EODD')), /^The model's endpoint cannot be reached: it broke: EODD/],
    [
      'an odd refusal',
      openai(async () => refused(422, 'Not so.')),
      /^The endpoint refuses the request \(422: Not so\): check provider_type and base_url$/,
    ],
    [
      'a web page as bytes',
      openai(async () => new Response(new TextEncoder().encode(' <html>Hello</html>'))),
      /^http:\/\/models\.test\/v1 answers with a web page: .* such as http:\/\/models\.test\/v1, /,
    ],
  ])('%s', async (_, client, fault) => {
    const { models, fault: found } = await checkProvider(providerOf({ default_model: 'small' }), client);
    expect(models).toEqual([]);
    expect(found).toMatch(fault);
  });
});

it.each<[string, Response, string[]]>([
  ['null', Response.json({ data: null }), []],
  ['entries without a name', listed({ id: 7 }, { id: 'small' }, {}), ['small']],
])('a list of models may hold %s', async (_, answer, models) => {
  expect(
    await checkProvider(
      providerOf({ default_model: null }),
      openai(async () => answer),
    ),
  ).toEqual({ models, fault: null });
});

describe('the default model', () => {
  const check = (fetch: Fetch, most_ms?: number) => checkProvider(providerOf({ default_model: 'small' }), openai(fetch), most_ms);

  it.each<[string, Fetch, string | null]>([
    ['that has used up its tokens answers', asked(chat({ content: '' }, 'length')), null],
    [
      'may be refused for what nobody knows',
      asked(refused(400, 'Not so.'), refused(400, 'Not so.')),
      'The endpoint lists its models, but small does not answer (Not so): correct default_model or the access of the key',
    ],
    [
      'is not blamed for a key that is refused as a bad request',
      asked(refused(400, 'API key expired.'), refused(400, 'API key expired.')),
      'The endpoint wants a key (401: API key expired): store one as a token and name it in api_key_token_name',
    ],
    [
      'may be unknown where it is the only one',
      asked(refused(404, 'Gone.'), refused(404, 'Gone.')),
      'The endpoint has no model small (Gone): correct default_model',
    ],
  ])('%s', async (_, fetch, fault) => {
    expect(await check(fetch)).toEqual({ models: ['small'], fault });
  });

  it('that says nothing does not answer', async () => {
    const fetch: Fetch = (url, init) => (url.endsWith('/models') ? Promise.resolve(listed({ id: 'small' })) : never(url, init));
    const { fault } = await check(fetch, 20);
    expect(fault).toMatch(/small does not answer \(nothing within 0\.02 s\)/);
  });

  it('is not blamed for another error', async () => {
    const body = new ReadableStream({ start: (controller) => controller.error(new Error('odd')) });
    await expect(check(asked(new Response(body)))).rejects.toThrow('odd');
  });

  it('of Anthropic is looked up, and not asked', async () => {
    const fetch: Fetch = async () =>
      Response.json({ data: [{ id: 'claude-big' }, { id: 'claude-small-20260101' }], has_more: false });
    const check = (default_model: string) =>
      checkProvider(providerOf({ provider_type: 'anthropic', default_model }), anthropic(fetch));
    expect((await check('claude-small')).fault).toBeNull();
    expect((await check('gone')).fault).toBe(
      'The endpoint has no model gone: set default_model to one that it has, such as claude-big, claude-small-20260101',
    );
  });
});

describe('a list of models', () => {
  const list = modelLister({ redact: () => redactor() });
  const client = async () => openai(async () => listed({ id: 'm-7' }, { id: 'm-7-pro' }, { id: 'own' }));
  const provider = { id: 'p', provider_type: 'openai', base_url: null, price_table: { own: { input: 17, output: 19 } } };
  const listFor = async (values: object) => {
    const models = await list({ key: 'prices', client, provider: { ...provider, ...values } as never });
    return models.map(({ id, price, priced, price_source }) => ({ id, price, priced, price_source }));
  };
  const unpriced = (id: string) => ({ id, price: undefined, priced: false, price_source: null });
  const m7 = knownModel({ id: 'm-7', price: { input: 3, output: 5, batch: { input: 2, output: 3 } }, efforts: ['low'] });

  afterEach(() => replaceKnownModels(SHIPPED_MODELS));

  it('says what a model costs at this provider, and how that is known', async () => {
    replaceKnownModels([m7]);
    const own = { id: 'own', price: { input: 17, output: 19 }, priced: true, price_source: 'provider' };
    const of_vendor = { id: 'm-7', price: m7.price, priced: true, price_source: 'catalogue' };
    expect(await listFor({})).toEqual([of_vendor, unpriced('m-7-pro'), own]);
    expect(await listFor({ base_url: 'https://gateway.example/v1' })).toEqual([unpriced('m-7'), unpriced('m-7-pro'), own]);
    const any = { input: 23, output: 29 };
    expect((await listFor({ price_table: { '*': any } })).map(({ price }) => price)).toEqual([any, any, any]);
  });

  it('says what the catalogue knows about a model, as it is when the list is read', async () => {
    replaceKnownModels([]);
    const read = async () => (await list({ key: 'facts', client, provider: provider as never }))[0];
    const unknown = { vendor: null, max_output: null, reasoning_efforts: null, modalities: null, tools: null, source: null };
    expect(await read()).toMatchObject({ ...unknown, structured_output: null, ends_on: null, as_of: null, successor: null });
    const facts = { max_output: 31, tools: true, structured_output: false, ends_on: '2031-05-01', successor: 'm-8' };
    replaceKnownModels([{ ...m7, ...facts, context_window: 7_919 }]);
    expect(await read()).toMatchObject({
      ...{ ...facts, vendor: 'openai', context_window: 7_919, context_window_from: 'known', reasoning_efforts: ['low'] },
      ...{ modalities: { input: ['text'], output: ['text'] }, source: m7.source, as_of: m7.as_of },
    });
  });

  it.each([
    new AppError('not_found', 'No token'),
    new OutageError({ code: 'database_unavailable', sentence: 'Postgres is gone' }),
  ])('cannot be asked for: %s', async (error) => {
    await expect(list({ key: 'x', client: () => Promise.reject(error), provider: null })).rejects.toBe(error);
  });
});
