import { expect, it } from 'vitest';
import { toModelWindow } from '../../src/runtimes/model-lists.ts';

it.each([
  [
    { provider: 7_001, endpoint: 5_003, known: 3_001 },
    { context_window: 7_001, context_window_from: 'provider' },
  ],
  [
    { provider: null, endpoint: 5_003, known: 3_001 },
    { context_window: 5_003, context_window_from: 'endpoint' },
  ],
  [
    { provider: null, endpoint: null, known: 3_001 },
    { context_window: 3_001, context_window_from: 'known' },
  ],
  [{ provider: null, endpoint: undefined, known: undefined }, {}],
])('the window of a model is what is the surest of %j', (sizes, shown) => {
  expect(toModelWindow(sizes)).toEqual(shown);
});
