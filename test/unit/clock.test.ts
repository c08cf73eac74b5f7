import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RateWindow } from '../../src/api/http/rate-window.ts';
import { createSignIns } from '../../src/api/sign-in/sign-in.ts';
import { createCachedIdentity } from '../../src/identity/cached-identity.ts';
import { modelLister } from '../../src/runtimes/model-lists.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** Where the time of day is meant: deadlines of gRPC are times of day, and so is what people and other services receive. */
const TIME_OF_DAY: Record<string, RegExp> = {
  'the deadline of a call to the engine': /withDeadline\(Date\.now\(\) \+/,
  'times that a schedule is due at':
    /(noteMissed|toSchedule|engineCadence|shortestGap|upcoming)\(.*Date\.now\(\)|last > Date\.now\(\)|after: Date\.now\(\)/,
  'a date in an answer from outside': /(Date\.parse\(text\)|reset_s) - Date\.now\(\)/,
  'the timestamp of a webhook message': /now = Date\.now, timeout_ms = TIMEOUT_MS \}: SenderOptions/,
  'a time that is stored and compared with another stored one':
    /(previous|reply)_until\.getTime\(\) (<=?|>) Date\.now\(\)|Date\.parse\(ttl\) <= Date\.now\(\)|Date\.now\(\) - Date\.parse\(listings\.get/,
  'the age of an answer': /Date\.now\(\) - Date\.parse\(head\.completed_at\)/,
  'the age of a change to a schedule': /updated_at: \{ lt: new Date\(Date\.now\(\) - grace_ms\) \}/,
  'the time of a chat message': /Math\.max\(Date\.now\(\), /,
  'the end of a service key or an access token':
    /Date\.parse\(target_key\.expires_at\) <= Date\.now\(\)|ends <= Date\.now\(\)|Date\.now\(\) \+ grace_seconds|Date\.now\(\) < \(principal\?\.valid_until|Date\.now\(\) \+ ttl_seconds|Date\.now\(\) - ORIGINS_KEPT_MS/,
  'the end of a session of a browser, and of a sign-in in progress':
    /Date\.now\(\) \+ LOGIN_SECONDS|Date\.now\(\) \+ seconds|login\.expires_at > Date\.now\(\)/,
  'the end of a sign-in at an MCP server, and of its tokens':
    /Date\.now\(\) \+ ATTEMPT_MS|early_ms <= Date\.now\(\)|Date\.now\(\) \+ toLifetimeMs/,
  'the time of a line of the log': /level: 30, time: Date\.now\(\)/,
  'the age of an idempotency key': /const now = Date\.now\(\);|new Date\(Date\.now\(\) - (KEPT|LOST)_MS/,
};

it('measures durations with a clock that nobody can set', () => {
  const files = globSync('src/**/*.ts', { cwd: ROOT }).filter((file) => !/^src\/(generated|dashboard)/.test(file));
  const uses = files.flatMap((file) =>
    readFileSync(resolve(ROOT, file), 'utf8')
      .split('\n')
      .filter((line) => /\bDate\.now\b/.test(line))
      .map((line) => ({ file, line: line.trim() })),
  );
  expect(uses.length).toBeGreaterThan(10);
  const meant = Object.values(TIME_OF_DAY);
  const others = uses.filter(({ line }) => !meant.some((pattern) => pattern.test(line)));
  expect(others.map(({ file, line }) => `${file}: ${line}`)).toEqual([]);
});

describe.each([
  ['back', -DAY_MS],
  ['forward', DAY_MS],
])('when the clock is set %s by a day', (_, jump_ms) => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  const jump = () => vi.setSystemTime(Date.now() + jump_ms);
  const pass = (ms: number) => vi.advanceTimersByTime(ms);

  it('an access token is checked again after five minutes, and not before', async () => {
    let asked = 0;
    const identify = createCachedIdentity([
      async () => {
        asked += 1;
        return { provider: 'p', subject: 's', login: 'l' };
      },
    ]);
    await identify('token');
    jump();
    pass(4 * MINUTE_MS);
    await identify('token');
    expect(asked).toBe(1);
    pass(MINUTE_MS + 1);
    await identify('token');
    expect(asked).toBe(2);
  });

  it('an address that failed to sign in waits a minute', () => {
    const sign_ins = createSignIns(1);
    sign_ins.attempt('192.0.2.1');
    jump();
    expect(() => sign_ins.attempt('192.0.2.1')).toThrow('attempts to sign in');
    pass(MINUTE_MS + 1);
    sign_ins.attempt('192.0.2.1');
  });

  it('the rate of a caller is counted from scratch after a minute', () => {
    const window = new RateWindow();
    const counted = () => {
      let found: { current: number; ttl: number } | undefined;
      window.incr('caller', (_error, result) => {
        found = result;
      });
      return found!;
    };
    counted();
    jump();
    expect(counted()).toEqual({ current: 2, ttl: MINUTE_MS });
    pass(MINUTE_MS + 1);
    expect(counted()).toEqual({ current: 1, ttl: MINUTE_MS });
  });

  it('a list of models is fetched again after ten minutes', async () => {
    let asked = 0;
    const list = modelLister({ redact: () => ({ value: (it: unknown) => it, error: (it: unknown) => it }) as never });
    const client = async () => {
      asked += 1;
      return { models: { list: async function* () {} } } as never;
    };
    await list({ key: 'k', client, provider: null });
    jump();
    await list({ key: 'k', client, provider: null });
    expect(asked).toBe(1);
    pass(10 * MINUTE_MS + 1);
    await list({ key: 'k', client, provider: null });
    expect(asked).toBe(2);
  });
});
