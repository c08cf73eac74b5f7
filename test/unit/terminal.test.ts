import { expect, it } from 'vitest';
import { formatRequestLine, textLine } from '../../src/main/log.ts';
import { sanitizeOutput } from '../../src/main/terminal.ts';

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
