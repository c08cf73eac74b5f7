import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, type TestContext } from 'vitest';

const RUN = fileURLToPath(new URL('../chaos/run.ts', import.meta.url));

/** A round of the chaos suite that plays only one fault, and kills workers and API servers. */
const during =
  (fault: string, { bus = 'postgres' }: { bus?: 'postgres' | 'redis' } = {}) =>
  async (test: TestContext): Promise<void> => {
    const only = `${fault},worker,api`;
    const flags = ['--short', '--seed', '21', '--bus', bus, '--only', only, '--pace', '1500', '--minutes', '0.4'];
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', RUN, ...flags], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
    const reason = printed.match(new RegExp(`^left out: ${fault} \\((.*)\\)$`, 'm'))?.[1];
    if (reason) return test.skip(reason);
    expect(printed.trimEnd().split('\n').at(-1), printed).toMatch(/^\d+ kills, \d+ runs, 0 violations$/);
    expect(code).toBe(0);
  };

describe('an API or a worker is killed, and nothing is lost, repeated or untrue,', { timeout: 300_000 }, () => {
  it('while connections fall silent', during('connection silent'));
  it('while connections fall silent, with Redis as the bus', during('connection silent', { bus: 'redis' }));
  it('while Postgres is killed', during('postgres'));
  it('while Temporal is killed', during('temporal'));
  it('while Redis is killed', during('redis', { bus: 'redis' }));
  it('while Redis is frozen', during('redis stalled', { bus: 'redis' }));
  it('while Redis is flushed', during('redis flushed', { bus: 'redis' }));
  it('while connections are used up', during('connections used up'));
  it('while the disk is full', during('disk full'));
  it('while the model sends poison', during('model poisoned'));
});
