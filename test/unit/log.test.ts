import { describe, expect, it } from 'vitest';
import { isJsonLog } from '../../src/main/config.ts';
import { formatRequestLine, textLine } from '../../src/main/log.ts';

const terminal = { isTTY: true };
const pipe = { isTTY: false };

describe('the log', () => {
  it.each([
    [{ NODE_ENV: 'production' }, pipe, true],
    [{ NODE_ENV: 'production' }, terminal, false],
    [{ NODE_ENV: 'development' }, pipe, false],
    [{}, pipe, false],
    [{ LOG_FORMAT: 'json' }, terminal, true],
    [{ LOG_FORMAT: 'text', NODE_ENV: 'production' }, pipe, false],
  ])('with %j at %j is JSON: %s', (env, stream, json) => {
    expect(isJsonLog(env, stream)).toBe(json);
  });

  it('names run and trace at the end of a line for people', () => {
    expect(textLine('It failed', { task_id: '1', trace_id: '2' })).toBe('It failed (task 1, trace 2)');
    expect(textLine('It failed', { task_id: '1' })).toBe('It failed (task 1)');
    expect(textLine('It failed')).toBe('It failed');
  });

  it('shows requests as text on a terminal', () => {
    const about = { time: '2026-11-23T10:20:30.000Z', level: 'error', reqId: 'r1' };
    const failed = {
      ...about,
      req: { method: 'GET', url: '/x' },
      res: { statusCode: 500 },
      err: { stack: 'Error: no\n    at f' },
      msg: 'no',
    };
    expect(formatRequestLine(JSON.stringify(failed))).toBe('10:20:30 error GET /x 500 no (r1)\nError: no\n    at f\n');
    expect(formatRequestLine(JSON.stringify({ ...about, level: 'info', msg: 'incoming' }))).toBe(
      '10:20:30 info  incoming (r1)\n',
    );
  });
});
