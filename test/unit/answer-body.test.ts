import fc from 'fast-check';
import { APIError } from 'openai';
import type { Stream } from 'openai/core/streaming';
import { Stream as ClientStream } from 'openai/core/streaming';
import { describe, expect, it } from 'vitest';
import { readAnswer } from '../../src/runtimes/answer-body.ts';
import { ReportedError } from '../../src/runtimes/vendor-errors.ts';

const HEADERS = { 'content-type': 'text/event-stream' };

function answer(pieces: readonly Uint8Array[]): Response {
  const left = [...pieces];
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = left.shift();
      if (piece) controller.enqueue(piece);
      else controller.close();
    },
  });
  return new Response(body, { headers: HEADERS });
}

/** What was read, and how reading ended. */
interface Outcome {
  chunks: unknown[];
  failed: string | null;
}

const failureOf = (error: unknown) =>
  error instanceof APIError || error instanceof ReportedError
    ? `reported ${(error as Error).message}`
    : (error as Error).constructor.name;

async function outcomeOf(read: (add: (chunk: unknown) => void) => Promise<void>): Promise<Outcome> {
  const chunks: unknown[] = [];
  const failed = await read((chunk) => chunks.push(chunk)).then(() => null, failureOf);
  return { chunks, failed };
}

const read = (response: Response, add: (chunk: object) => void) =>
  readAnswer(response, 'a chat completion', { onEvent: add, onWhole: add });

const ours = (pieces: readonly Uint8Array[]) =>
  outcomeOf(async (add) => {
    await read(answer(pieces), add);
  });

const theirs = (pieces: readonly Uint8Array[]) =>
  outcomeOf(async (add) => {
    const controller = new AbortController();
    const stream: Stream<unknown> = ClientStream.fromSSEResponse(answer(pieces), controller, { logLevel: 'off' } as never);
    // Perdura skips what is not an object.
    for await (const chunk of stream) if (chunk !== null) add(chunk);
  });

const bytes = (text: string) => new TextEncoder().encode(text);

/** The bytes of a text, cut at these shares of its length. */
function cut(text: string, places: readonly number[]): Uint8Array[] {
  const all = bytes(text);
  const ends = [...new Set(places.map((place) => Math.floor(place * all.length)))].sort((a, b) => a - b);
  return [0, ...ends].map((start, at) => all.subarray(start, ends[at] ?? all.length)).filter((piece) => piece.length > 0);
}

const EVENTS = [
  'data: {"a":"plain"}',
  'data:{"a":"without a space"}',
  'data: {"a":\ndata: "in two lines"}',
  'data: {"a":"ü and 🙂"}',
  ': a comment',
  'retry: 100',
  'id: 7\ndata: {"a":"with an id"}',
  'event: message\ndata: {"a":"with a type"}',
  'data: {"error":{"message":"overloaded"}}',
  'event: error\ndata: {"message":"refused"}',
  'data: {"a":',
  'data: null',
  'data: [DONE]',
];

const streams = fc.record({
  events: fc.array(fc.constantFrom(...EVENTS), { maxLength: 6 }),
  line_end: fc.constantFrom('\n', '\r\n', '\r'),
  ended: fc.boolean(),
  places: fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { maxLength: 12 }),
});

describe('the chunks of a streamed answer', () => {
  it('are those that the client reads, however the bytes are cut and the lines end', async () => {
    await fc.assert(
      fc.asyncProperty(streams, async ({ events, line_end, ended, places }) => {
        const text = (events.join('\n\n') + (ended ? '\n\n' : '')).replaceAll('\n', line_end);
        const pieces = cut(text, places);
        expect(await ours(pieces)).toEqual(await theirs(pieces));
      }),
      { numRuns: 400 },
    );
  });

  it('are whole in pieces of one byte', async () => {
    const text = EVENTS.slice(0, 8).join('\n\n');
    const pieces = [...bytes(text)].map((byte) => Uint8Array.of(byte));
    const { chunks, failed } = await ours(pieces);
    expect(failed).toBeNull();
    expect(chunks).toEqual([
      ...[{ a: 'plain' }, { a: 'without a space' }, { a: 'in two lines' }, { a: 'ü and 🙂' }],
      ...[{ a: 'with an id' }, { a: 'with a type' }],
    ]);
  });

  it('end with the mark of the end, also if more follows in the same event', async () => {
    const after = ['data: {"a":7}', 'data: [DONE]', 'data: {"a":11}', 'data: Bye.'].join('\n');
    expect(await ours([bytes(`${after}\n\n`)])).toEqual({ chunks: [{ a: 7 }], failed: null });
  });

  it('fail without quoting what was sent', async () => {
    const error = await read(answer([bytes('data: {"key": sk-secret}\n\n')]), () => {}).catch((reason: Error) => reason);
    expect(error).toBeInstanceOf(SyntaxError);
    expect((error as Error).message).not.toContain('secret');
  });

  it('are left with the reason of the failure, so that the request ends', async () => {
    let reason: unknown;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(bytes('data: {"a":1}\n\n')),
      cancel: (given) => {
        reason = given;
      },
    });
    const full = new Error('too much');
    const reading = read(new Response(body, { headers: HEADERS }), () => {
      throw full;
    });
    await expect(reading).rejects.toBe(full);
    expect(reason).toBe(full);
  });
});
