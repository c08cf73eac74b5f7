import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { fileReader } from '../../src/knowledge/extract.ts';
import { ParserFailure } from '../../src/parsers/failure.ts';
import { createParserPool, type JobRules, type ParserPool } from '../../src/parsers/pool.ts';

const pool = createParserPool({ processes: 2 });
afterAll(() => pool.close());

const rules = (more: Partial<JobRules> = {}): JobRules => ({ owner: 'alice', deadline_ms: 20_000, ...more });
const kindOf = (job: Promise<unknown>) =>
  job.then(
    () => 'done',
    (error) => (error instanceof ParserFailure ? error.kind : error),
  );
/** A schema under which two large arrays are compared item by item. */
const unique = {
  config: { json_schema: { uniqueItems: true } },
  text: JSON.stringify(Array.from({ length: 40_000 }, (_, i) => [i])),
};

function isOwnParser(pid: string): boolean {
  try {
    const parent = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[1];
    return Number(parent) === process.pid && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('child/process.ts');
  } catch {
    return false;
  }
}

/** The processes that parse for this one. */
const listParsers = () => readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && isOwnParser(pid));

describe('the parser pool', () => {
  it('gives what a job comes to, and the sentence of one that cannot be done', async () => {
    expect(await pool.run('page', '<h1>A</h1><p>b</p>', rules())).toBe('A\n\nb');
    expect(await pool.run('config', { forbidden_patterns: ['('] }, rules())).toEqual([
      { path: 'config.forbidden_patterns.0', message: expect.stringContaining('RE2') },
    ]);
    const content = new TextEncoder().encode('{');
    const order = { reader: 'json' as const, content, longest: 10 };
    await expect(pool.run('document', order, rules({ once: true }))).rejects.toThrow('it is not valid JSON');
  });

  it('ends a process at the deadline of its job and continues with others', async () => {
    expect(await kindOf(pool.run('request', unique, rules({ deadline_ms: 300 })))).toBe('timeout');
    expect(await pool.run('page', 'still here', rules())).toBe('still here');
  });

  it('ends a process that needs too much memory, not the service', async () => {
    const text = `[${'[],'.repeat(20_000_000)}[]]`;
    expect(await kindOf(pool.run('request', { config: {}, text }, rules()))).toBe('memory');
    expect(await pool.run('page', 'still here', rules())).toBe('still here');
  });

  it.runIf(process.platform === 'linux').each([
    ['SIGABRT', 'memory'],
    ['SIGTRAP', 'memory'],
    ['SIGKILL', 'ended'],
  ] as const)('takes a process that %s has ended for one that failed with %s', async (signal, kind) => {
    const others = listParsers();
    const own = createParserPool({ processes: 1 });
    await own.run('page', 'first', rules());
    const [pid] = listParsers().filter((one) => !others.includes(one));
    const outcome = kindOf(own.run('request', unique, rules()));
    process.kill(Number(pid), signal);
    expect(await outcome).toBe(kind);
    await own.close();
  });

  it('leaves a process to others while one principal keeps asking', async () => {
    const own = createParserPool({ processes: 2 });
    const long = [1, 2].map(() => kindOf(own.run('request', unique, rules())));
    const mine = await Promise.race([own.run('page', 'mine', rules({ owner: 'bob' })), ...long]);
    expect(mine).toBe('mine');
    await own.close();
    expect(await Promise.all(long)).toEqual(['ended', 'ended']);
  });

  it('leaves a process to short jobs while slow ones are done', async () => {
    const own = createParserPool({ processes: 2 });
    const slow = ['alice', 'bob'].map((owner) => kindOf(own.run('request', unique, rules({ owner, slow: true }))));
    const short = await Promise.race([own.run('page', 'short', rules({ owner: 'carol' })), ...slow]);
    expect(short).toBe('short');
    await own.close();
    expect(await Promise.all(slow)).toEqual(['ended', 'ended']);
  });

  it('refuses jobs that waited too long, and jobs beyond the limit of the queue', async () => {
    const first = kindOf(pool.run('request', unique, rules({ deadline_ms: 1_000 })));
    expect(await kindOf(pool.run('page', '', rules({ patience_ms: 50 })))).toBe('busy');
    const many = Array.from({ length: 201 }, () => kindOf(pool.run('page', '', rules())));
    expect(await many.at(-1)).toBe('busy');
    expect(await first).toBe('timeout');
    expect(new Set((await Promise.all(many)).slice(0, 200))).toEqual(new Set(['done']));
  });

  it.runIf(process.platform === 'linux')('has nothing of the service in the environment of its processes', async () => {
    await pool.run('page', '', rules());
    const environments = listParsers().map((pid) => readFileSync(`/proc/${pid}/environ`, 'latin1'));
    expect(environments).not.toEqual([]);
    for (const text of environments) expect(text).not.toMatch(/(?:^|\0)(?!NODE_CHANNEL_)[A-Z]/);
  });

  /** Jobs, and whether they run once because their input might take the process over. */
  const JOBS: [string, once: boolean, (of: ParserPool) => Promise<unknown>][] = [
    ['a page', false, (of) => of.run('page', '<h1>A</h1>', rules())],
    ['a setting that is refused', false, (of) => of.run('outputSchema', { type: 'nonsense' }, rules())],
    ['a document', true, (of) => readFile(of, 'a.txt', 'A document')],
    ['a document without text', true, (of) => readFile(of, 'a.html', '<p></p>')],
    ['a document that cannot be read', true, (of) => readFile(of, 'a.json', '{')],
    ['a document that is none', true, (of) => readFile(of, 'a.pdf', 'not a PDF')],
    ['a page, as a job that runs once', true, (of) => of.run('page', 'x', rules({ once: true }))],
  ];
  const readFile = (of: ParserPool, filename: string, text: string) =>
    fileReader(of, { deadline_ms: 20_000, patience_ms: 20_000 })({ filename, content: Buffer.from(text), owner: 'alice' });

  it.runIf(process.platform === 'linux').each(JOBS)(
    'after %s, gives the process another job unless that one runs once: %s',
    async (_, once, job) => {
      const others = listParsers();
      const own = createParserPool({ processes: 2 });
      const listOwn = () => listParsers().filter((pid) => !others.includes(pid));
      await own.run('page', 'first', rules());
      const [first] = listOwn();
      await job(own).catch((error) => expect(error.message).not.toBe(''));
      expect(listOwn()).toEqual(once ? [] : [first]);
      expect(await own.run('page', 'next', rules({ owner: 'bob' }))).toBe('next');
      expect(listOwn().includes(first!)).toBe(!once);
      await own.close();
      expect(listOwn()).toEqual([]);
    },
  );

  it('ends running jobs when it is closed', async () => {
    const own = createParserPool({ processes: 2 });
    const running = kindOf(own.run('request', unique, rules()));
    const waiting = kindOf(own.run('request', unique, rules()));
    await own.run('page', '', rules({ owner: 'bob' }));
    await own.close();
    expect([await running, await waiting]).toEqual(['ended', 'ended']);
    expect(await kindOf(own.run('page', '', rules()))).toBe('ended');
  });
});
