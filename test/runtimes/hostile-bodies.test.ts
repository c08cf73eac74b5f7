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
