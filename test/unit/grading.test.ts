import { describe, expect, it } from 'vitest';
import { difference } from '../../src/domain/grading.ts';
import { parseResponse } from '../../src/domain/json-answers.ts';

const DIFFERS = 'The answer is not the expected one';

describe('the exact grader', () => {
  it.for([
    ['a text', 'Paris', 'Paris', null],
    ['space around it', ' Paris\n', 'Paris', null],
    ['another text', 'Lyon', 'Paris', DIFFERS],
    ['another case', 'paris', 'Paris', DIFFERS],
    ['JSON in another order', { a: 1, b: 2 }, { b: 2, a: 1 }, null],
    ['a text where JSON was wanted', parseResponse('Paris', 'json'), 'Paris', null],
    ['a text where JSON was wanted, both times', parseResponse('Paris', 'json'), { response: 'Paris' }, null],
    ['a number under the same name', { response: 7 }, '7', DIFFERS],
    ['an object with more in it', { response: 'Paris', sure: false }, 'Paris', DIFFERS],
  ] as const)('compares %s', ([, answer, expected, reason]) => {
    expect(difference(answer, expected, { ignore_case: false })).toBe(reason);
  });

  it('ignores case if it is to, and names an item without an expected answer', () => {
    expect(difference('paris', 'Paris', { ignore_case: true })).toBeNull();
    expect(difference('Paris', null, { ignore_case: true })).toContain('no expected answer');
  });
});
