import { expect, it } from 'vitest';
import { overrideDeadlines } from '../../src/runtimes/bounded.ts';

const INSTALLATION = { total_ms: 101_000, silence_ms: 53_000 };

it.each([
  ['no limits', undefined, 101_000, 53_000],
  ['no value', { model_total_seconds: null, model_silence_seconds: null }, 101_000, 53_000],
  ['a total', { model_total_seconds: 17, model_silence_seconds: null }, 17_000, 53_000],
  ['a silence', { model_total_seconds: null, model_silence_seconds: 5 }, 101_000, 5_000],
  ['both', { model_total_seconds: 17, model_silence_seconds: 5 }, 17_000, 5_000],
])('the deadlines of a definition with %s', (_, limits, total_ms, silence_ms) => {
  expect(overrideDeadlines(INSTALLATION, limits)).toEqual({ total_ms, silence_ms });
});
