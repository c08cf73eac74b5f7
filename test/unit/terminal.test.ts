import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { formatRequestLine, textLine } from '../../src/main/log.ts';
import { sanitizeOutput } from '../../src/main/terminal.ts';

const MAIN = resolve(import.meta.dirname, '../../src/main');
/** Moves the cursor, hides a line, sets the clipboard; the last is one character. */
const STEERING = 'a\u001b[2Kb\rc\u001b]52;c;eA==\u0007d\u009b2J\u007fe\n\tf';
const HARMLESS = 'a[2Kbc]52;c;eA==d2Je\n\tf';

it('a terminal gets no control characters but ends of lines and tabs; a file or a program gets a text as it is', () => {
  expect(sanitizeOutput({ isTTY: true }, STEERING)).toBe(HARMLESS);
  expect(sanitizeOutput({ isTTY: false }, STEERING)).toBe(STEERING);
  expect(sanitizeOutput({}, STEERING)).toBe(STEERING);
});

it('a line of the log for people has none', () => {
  expect(textLine(STEERING, { task_id: 'x' })).toBe(`${HARMLESS} (task x)`);
  const line = { time: '2026-11-26T06:40:00.000Z', level: 'error', msg: STEERING, err: { stack: STEERING } };
  expect(formatRequestLine(JSON.stringify(line))).toBe(`06:40:00 error ${HARMLESS}\n${HARMLESS}\n`);
});

/** Who writes otherwise, and why that cannot steer a terminal. */
const OTHERS: Record<string, string> = {
  'cli.ts': 'the error itself, asked for with LOG_LEVEL=debug',
  'commands/apply.ts': 'a question that is ours',
  'commands/dev.ts': 'the addresses of the installation',
  'config.ts': 'looks whether it is a terminal',
  'log-destination.ts': 'what log.ts gives it',
  'log.ts': 'lines without control characters, or JSON for programs',
  'terminal.ts': 'the place',
};

it('whatever a command writes passes one place', () => {
  const writes = /process\.std(?:out|err)(?!\.isTTY)|console\.|standardOutput|standardError/;
  const places = globSync('**/*.ts', { cwd: MAIN }).filter((file) => writes.test(readFileSync(resolve(MAIN, file), 'utf8')));
  expect(places.sort()).toEqual(Object.keys(OTHERS));
});
