import { APIError, type OpenAI } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { breaksOff, fails, says } from '../support/peers/model-server.ts';
import { openaiAt } from '../support/peers/openai.ts';

/** What a program reads that was written for OpenAI's API, by OpenAI's own client. */
let here: TestInstallation;
let openai: OpenAI;
beforeAll(async () => {
  here = await shareInstallation();
  openai = openaiAt(here.url, here.people.alice.token);
});
afterAll(() => here.stop());

const messages = [{ role: 'user' as const, content: 'x' }];
const CACHED = {
  usage: { prompt_tokens: 100, completion_tokens: 7, total_tokens: 107, prompt_tokens_details: { cached_tokens: 64 } },
};

async function collected<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of stream) all.push(item);
  return all;
}

describe('a completion', () => {
  const USAGE = {
    ...{ prompt_tokens: 100, completion_tokens: 7, total_tokens: 107 },
    prompt_tokens_details: { cached_tokens: 64 },
  };

  it('counts what the model’s cache answered, as a part of the input', async () => {
    here.model.script(says('Hello.', CACHED));
    const completion = await openai.chat.completions.create({ model: await here.workflow(), messages });
    expect(completion.usage).toEqual(USAGE);
    expect(completion.choices[0]).toMatchObject({ index: 0, finish_reason: 'stop' });
  });

  it('ends its stream with one finish_reason, and after it the usage alone', async () => {
    here.model.script(says('One two three.', { ...CACHED, pause_ms: 60 }));
    const model = await here.workflow();
    const stream = { stream: true, stream_options: { include_usage: true } } as const;
    const chunks = await collected(await openai.chat.completions.create({ model, messages, ...stream }));
    const reasons = chunks.map(({ choices }) => choices.map(({ finish_reason }) => finish_reason));
    const said = chunks.length - 2;
    expect(reasons).toEqual([...Array.from({ length: said }, () => [null]), ['stop'], []]);
    expect(chunks.map(({ usage }) => usage ?? null)).toEqual([...Array.from({ length: said + 1 }, () => null), USAGE]);
    expect(chunks[0]?.choices[0]?.delta).toMatchObject({ role: 'assistant' });
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('One two three.');
    expect(new Set(chunks.map(({ id, model: named }) => `${id} ${named}`)).size).toBe(1);
  });

  it('has no usage in its stream unless it is asked for', async () => {
    here.model.script(says('Hello.'));
    const chunks = await collected(
      await openai.chat.completions.create({ model: await here.workflow(), messages, stream: true }),
    );
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('Hello.');
    expect(chunks.every(({ usage, choices }) => !usage && choices.length === 1)).toBe(true);
  });

  it('fails its stream with an error, and without a finish_reason', async () => {
    here.model.script(fails(400, { message: 'bad thing' }));
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    const read = async () => {
      const stream = await openai.chat.completions.create({ model: await here.workflow(), messages, stream: true });
      for await (const chunk of stream) chunks.push(chunk);
    };
    const error = await read().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(APIError);
    expect((error as APIError).message).toContain('bad thing');
    expect(chunks.map(({ choices }) => choices[0]?.finish_reason ?? null)).toEqual(chunks.map(() => null));
  });
});

describe('a response', () => {
  type Event = OpenAI.Responses.ResponseStreamEvent;
  const textOf = (events: Event[]) =>
    events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('');
  const idOf = (events: Event[]) => (events[0] as OpenAI.Responses.ResponseCreatedEvent).response.id;
  const resumed = async (id: string, starting_after: number) =>
    collected(await openai.responses.retrieve(id, { stream: true, starting_after }));

  async function streamed(...script: Parameters<typeof here.model.script>) {
    here.model.script(...script);
    return collected(await openai.responses.create({ model: await here.workflow(), input: 'x', stream: true }));
  }

  it('counts what the model’s cache answered, in its stream too', async () => {
    const usage = { input_tokens: 100, output_tokens: 7, total_tokens: 107, input_tokens_details: { cached_tokens: 64 } };
    const events = await streamed(says('Hello.', CACHED));
    expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: { usage } });
    expect((await openai.responses.retrieve(idOf(events))).usage).toMatchObject(usage);
  });

  it('is resumed after any of its events, with the rest of its text and its end', async () => {
    const text = 'One two three four five six.';
    const events = await streamed(says(text, { pause_ms: 70 }));
    const numbers = events.map(({ sequence_number }) => sequence_number);
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
    expect(events.filter(({ type }) => type === 'response.output_text.delta').length).toBeGreaterThan(2);
    expect(textOf(events)).toBe(text);
    for (const [index, { sequence_number }] of events.entries()) {
      const rest = await resumed(idOf(events), sequence_number);
      expect(textOf(events.slice(0, index + 1)) + textOf(rest), `after event ${index}`).toBe(text);
      expect(rest.map(({ sequence_number: number }) => number)).toEqual(numbers.slice(index + 1));
      expect(rest.at(-1)?.type).toBe(index === events.length - 1 ? undefined : 'response.completed');
    }
  });

  it('is resumed in the midst of its text when the pieces are no longer on record', async () => {
    const text = 'One two three four five six.';
    const events = await streamed(says(text, { pause_ms: 70 }));
    expect(textOf(events)).toBe(text);
    await here.core.database.pool.query(`DELETE FROM events WHERE type = 'message_delta'`);
    for (const [index, { sequence_number }] of events.slice(0, -1).entries()) {
      const rest = await resumed(idOf(events), sequence_number);
      expect(textOf(events.slice(0, index + 1)) + textOf(rest), `after event ${index}`).toBe(text);
      expect(rest.at(-1)).toMatchObject({ type: 'response.completed', response: { output: [{ content: [{ text }] }] } });
    }
  });

  it('has the whole text once when the model broke off in between', async () => {
    const events = await streamed(breaksOff('One tw'), says('One two three'));
    expect(textOf(events)).toBe('One two three');
    expect(events.find(({ type }) => type === 'response.output_text.done')).toMatchObject({ text: 'One two three' });
  });

  it('fails with the reason of its run', async () => {
    const events = await streamed(fails(400, { message: 'bad thing' }));
    expect(events.at(-1)).toMatchObject({
      type: 'response.failed',
      response: { status: 'failed', error: { code: 'server_error', message: expect.stringContaining('bad thing') }, output: [] },
    });
  });
});
