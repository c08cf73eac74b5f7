import { expect, it } from 'vitest';
import { testCalls } from './calls-cases.ts';
import { openBench, QUICK_TIER, TIERS } from './support.ts';

testCalls({ process: { isolation: 'none' }, ...QUICK_TIER });

it('a call keeps in every tier what was printed when the tool runs out of time', async () => {
  const source = 'import time\ndef tool():\n print("before")\n while True:\n  try: time.sleep(9)\n  except BaseException: pass';
  const runLate = async ([tier, options]: [string, (typeof TIERS)[string]]) => {
    const { runner, call } = await openBench({ ...options, timeout_ms: 3_000 });
    const { result, error, stdout } = await call(source).finally(() => runner.close());
    return [tier, { result, error, stdout }];
  };
  const ended = { result: '{"error":"timed out"}', error: 'timed out', stdout: 'before\n' };
  const tiers = Object.entries(TIERS);
  // They wait at the same time.
  expect(await Promise.all(tiers.map(runLate))).toEqual(tiers.map(([tier]) => [tier, ended]));
});
