import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
/** Around the changes of the clocks, in the middle of both seasons, and the end of a year. */
const TIMES = ['2026-01-31T12:00:07', '2026-03-08T10:30:00', '2026-07-01T00:00:59', '2026-10-25T12:30:00', '2026-12-31T23:59:59'];

const PROGRAM = `
  const { toControls, toWire } = await import('${ROOT}/src/dashboard/resources/values.ts');
  const fields = [{ name: 'at', label: 'At', control: 'time', nullable: true }];
  const shown = ${JSON.stringify(TIMES)}.map((time) => toControls(fields, { at: time + '.000Z' }));
  const sent = shown.map((controls) => toWire(fields, controls).values.at);
  console.log(JSON.stringify({ offset: new Date('2026-01-31').getTimezoneOffset(), shown: shown.map(({ at }) => at), sent }));`;

async function showIn(TZ: string): Promise<{ offset: number; shown: string[]; sent: string[] }> {
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', PROGRAM];
  return JSON.parse((await promisify(execFile)(process.execPath, args, { env: { ...process.env, TZ } })).stdout);
}

it.each([
  ['UTC', 0, '2026-01-31T12:00:07'],
  ['Asia/Kathmandu', -345, '2026-01-31T17:45:07'],
  ['America/New_York', 300, '2026-01-31T07:00:07'],
  ['Australia/Lord_Howe', -660, '2026-01-31T23:00:07'],
])('a form in %s shows a time as the clocks there do, and sends it back unchanged', async (zone, offset, first) => {
  const { shown, ...answer } = await showIn(zone);
  expect(answer).toEqual({ offset, sent: TIMES.map((time) => `${time}.000Z`) });
  expect(shown[0]).toBe(first);
});
