import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { baseEnv } from '../support/machine/processes.ts';

const module = (name: string) => JSON.stringify(new URL(`../../src/main/${name}.ts`, import.meta.url).href);
const TASK = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001';

/** Starts a script in a separate process; on a terminal if there is to be one. */
async function run(script: string, env: Record<string, string> = {}, terminal = false) {
  const command = [process.execPath, '--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', script];
  const [program = '', ...args] = terminal ? ['python3', '-c', 'import pty, sys; pty.spawn(sys.argv[1:])', ...command] : command;
  const child = spawn(program, args, { env: { ...baseEnv(), ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'exit');
  const [out, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { code, out, errors };
}

describe('the log of a process', () => {
  const SCRIPT = `
    const { report, sdkLog, requestLog } = await import(${module('log')});
    const { standardError } = await import(${module('log-destination')});
    report('Done');
    const log = sdkLog();
    log({ message: 'Broken', level: 'WARN', meta: { workflowId: 'task-${TASK}', error: new Error('why') } });
    log({ message: 'Fine', level: 'INFO', meta: {} });
    requestLog().write('{"time":"2026-01-31T12:13:14.000Z","level":"info","msg":"asked"}\\n');
    for (let count = 0; count < 3; count += 1) standardError.write('"' + 'y'.repeat(600000) + '"\\n');
  `;
  const REQUEST = '{"time":"2026-01-31T12:13:14.000Z","level":"info","msg":"asked"}\n';

  it('is text for people', async () => {
    const { out, errors } = await run(SCRIPT, { LOG_FORMAT: 'text' });
    expect(out.split('\n').sort()).toEqual(['', 'Done', REQUEST.trim()].sort());
    expect(errors.startsWith(`Broken (task ${TASK}) {\n  error: Error: why\n`)).toBe(true);
    expect(errors.includes('\nFine\n')).toBe(true);
    expect(errors.includes('\n2 lines of the log were dropped: nothing was taken in time\n')).toBe(true);
  });

  it('is JSON in every line', async () => {
    const { out, errors } = await run(SCRIPT, { LOG_FORMAT: 'json' });
    expect(out).toBe(REQUEST);
    const lines = errors
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ level: 'info', msg: 'Done' }),
        expect.objectContaining({
          level: 'warn',
          msg: 'Broken',
          task_id: TASK,
          err: expect.objectContaining({ message: 'why' }),
        }),
        expect.objectContaining({ level: 'info', msg: 'Fine' }),
        expect.objectContaining({ level: 'warn', msg: '2 lines of the log were dropped: nothing was taken in time' }),
      ]),
    );
    expect(lines.find(({ msg }) => msg === 'Fine')).not.toHaveProperty('err');
  });

  it('shows requests as text on a terminal', async () => {
    const script = `(await import(${module('log')})).requestLog().write(${JSON.stringify(REQUEST)})`;
    expect((await run(script, {}, true)).out).toBe('12:13:14 info  asked\r\n');
  });
});

describe('a process that is asked to end', () => {
  const asked = (later: string) =>
    run(`
      const { untilSignal } = await import(${module('until-signal')});
      untilSignal().then(() => console.log('it ends'));
      process.emit('SIGINT');
      process.emit('SIGTERM');
      ${later}
      setTimeout(() => process.exit(7), 3000);
    `);

  it('ends by itself if the same request comes twice at once', async () => {
    expect(await asked('')).toMatchObject({ code: 7, out: 'it ends\n' });
  });

  it('ends at once if it is asked again', async () => {
    expect(await asked("setTimeout(() => process.emit('SIGINT'), 1100);")).toMatchObject({ code: 130, out: 'it ends\n' });
  });
});
