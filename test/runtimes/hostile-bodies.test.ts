import { describe, expect, it } from 'vitest';
import { readAnswer } from '../../src/runtimes/answer-body.ts';
import { readVendorError } from '../../src/runtimes/vendor-errors.ts';
import { failure } from './support.ts';

/** A body of this length would take minutes in any search that takes the square of it. */
const LARGE = 4 * 1_024 * 1_024;
const repeat = (text: string) => text.repeat(LARGE / text.length);
const IGNORED = { onEvent: () => {}, onWhole: () => {} };

describe('a hostile endpoint does not stop the process', () => {
  it.each(['<title', '<h1 ', '<title>x</h1>', '<message>', '<message>x</msg>'])('with a page of %s', async (text) => {
    const failed = await failure(readAnswer(new Response(repeat(text)), 'a chat completion', IGNORED));
    expect(failed).toMatchObject({ code: 'model_sent_html' });
    expect(readVendorError(repeat(text)).message).toMatch(/web page/);
  });

  it.each(['{ ', '{"msg":"', '{"message": "" ', 'retry in 1', '1', ' ', "b'", '":', '\\"'])('with a refusal of %j', (text) => {
    for (const before of ['', '{"', '{"msg":"', 'retry in ', 'x {"detail": "'])
      expect(readVendorError(before + repeat(text)).message.length).toBeLessThan(5_000);
  });
});

const PIECES = 200_000;

/** A body that arrives in this order, a piece a read. */
function stream(piece: string, last: string): Response {
  const bytes = new TextEncoder().encode(piece);
  let left = PIECES;
  const pull = (controller: ReadableStreamDefaultController) => {
    left -= 1;
    controller.enqueue(left >= 0 ? bytes : new TextEncoder().encode(last));
    if (left < 0) controller.close();
  };
  return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }));
}

async function readEventsOf(response: Response): Promise<object[]> {
  const events: object[] = [];
  await readAnswer(response, 'a chat completion', {
    onEvent: (event) => events.push(event),
    onWhole: (answer) => events.push(answer),
  });
  return events;
}

describe('a body in many small pieces is read once', () => {
  it.each([
    ['comments before events', ': waiting\n\n', 'data: {"x":1}\n\n'],
    ['comments before JSON', ': waiting\r\n', '{"x":1}'],
    ['a comment that does not end', ':waiting ', '\n\ndata: {"x":1}\n\n'],
    ['blanks', '\n \n', '{"x":1}'],
  ])('%s', async (_, piece, last) => {
    expect(await readEventsOf(stream(piece, last))).toEqual([{ x: 1 }]);
  });

  it('a first line of an event that does not end', async () => {
    const response = stream('data: "', '');
    expect(await readEventsOf(response)).toEqual([]);
  });

  it('a first line of text that does not end', async () => {
    const failed = await failure(readEventsOf(stream('upstream ', 'is gone')));
    expect(failed).toMatchObject({ code: 'bad_model_response', message: expect.stringContaining('upstream upstream') });
  });
});
