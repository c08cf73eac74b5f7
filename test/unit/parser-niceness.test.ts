import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { baseEnv } from '../support/machine/processes.ts';

const CHILD = fileURLToPath(new URL('../../src/parsers/child/process.ts', import.meta.url));

/** Without the right to lower the niceness of a process, which only root has. */
const unprivileged = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-sys_nice', '--inh-caps=-sys_nice'] : [];

it('a parser of a service that gives way to others starts', async () => {
  const command = ['nice', '-n', '10', ...unprivileged, process.execPath, CHILD];
  const parser = spawn(command[0]!, command.slice(1), {
    env: baseEnv(),
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const started = await new Promise((resolve) => {
    parser.once('message', resolve);
    parser.once('exit', (code) => resolve(`ended with ${code}`));
  });
  expect(started).toBe('ready');
  parser.disconnect();
  expect(await once(parser, 'exit')).toEqual([0, null]);
});

it('a parser answers with the result of a job or why it was refused, whatever was thrown, and ends with its service', async () => {
  const parser = fork(CHILD, { env: baseEnv(), serialization: 'advanced', stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
  const answers: unknown[] = [];
  const ask = async (order: object | null) => {
    const answered = once(parser, 'message');
    if (order) parser.send(order);
    answers.push((await answered)[0]);
  };
  await ask(null);
  parser.kill('SIGINT');
  await ask({ job: 'page', input: '<p>still here</p>' });
  await ask({ job: 'document', input: { reader: 'json', content: new TextEncoder().encode('{'), longest: 10 } });
  await ask({ job: 'none', input: null });
  expect(answers).toEqual([
    'ready',
    { value: 'still here' },
    { refusal: expect.stringContaining('it is not valid JSON') },
    { refusal: 'jobs[job] is not a function' },
  ]);
  parser.disconnect();
  expect(await once(parser, 'exit')).toEqual([0, null]);
});
