import { expect, it } from 'vitest';
import { createTextDigest } from '../../src/api/compat/runs.ts';

it.each<[string, string, string | null]>([
  ['', 'The sum is 4.', 'The sum is 4.'],
  ['The sum', 'The sum is 4.', ' is 4.'],
  ['The sum is 4.', 'The sum is 4.', ''],
  ['2 and 2 </think>\n\nThe sum is 4.', 'The sum is 4.', ''],
  ['2 and 2 </think>The sum is 4.', 'The sum is 4.', ''],
  ['The sum is 4.<|return|>', 'The sum is 4.', ''],
  ['2 and 2 [/THINK]The sum is 4.<|end_response|>\n', 'The sum is 4.', ''],
  ['The sum is 14', '4', null],
  ['The sum is 5.', 'The sum is 4.', null],
  ['The sum is 5.', '', null],
])('after %j, the text %j is to be sent: %j', (shown, text, rest) => {
  const digest = createTextDigest();
  for (const piece of shown) digest.add(piece);
  expect(digest.findRest(text)).toBe(rest);
});

it('the end of a long text is known, too', () => {
  const digest = createTextDigest();
  for (let at = 0; at < 100; at += 1) digest.add('so '.repeat(1_000));
  digest.add('</think>\n\nThe sum is 4.');
  expect(digest.findRest('The sum is 4.')).toBe('');
});
