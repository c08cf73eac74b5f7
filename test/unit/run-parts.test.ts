import { mkdir, mkdtemp, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import type { SizeSample } from '../../src/domain/sizes.ts';
import { readConfig } from '../../src/main/config.ts';
import { sizeChecks } from '../../src/main/size-checks.ts';
import { createFileKeeper } from '../../src/main/wiring/runs/kept-files.ts';
import { runSessions } from '../../src/main/wiring/runs/sessions.ts';
import { ENGINE_FILE } from '../../src/temporal/names.ts';

describe('the session that a provider keeps for a run', () => {
  const AT = new Date(0);
  /** Runs `t2`, `t3`, … of providers; `refusing` names the providers that do not answer. */
  function sessionsOf({ cursor = 'c' as unknown, started_at = AT as Date | null, refusing = [] as string[] } = {}) {
    const done: string[] = [];
    const log: string[] = [];
    const cursors = {
      open: async () => ['t2', 't3', 't5'].map((task_id) => ({ task_id, definition_hash: task_id === 't5' ? 'near' : 'far' })),
      forget: async (task_id: string) => void done.push(`forgot ${task_id}`),
      leave: async (task_id: string) => void done.push(`left ${task_id}`),
    };
    const runs = { open: async (task_id: string) => (task_id === 'gone' ? undefined : { task_id, cursor, started_at }) };
    const sessions = runSessions({ store: { cursors, runs }, log: (line: string) => void log.push(line) } as never, {
      definition: async (hash) => {
        if (hash === 'unknown') throw new Error('no such definition');
        const provider = { id: hash, provider_type: hash === 'open' ? 'openai_compatible' : 'anthropic', base_url: null };
        return { provider: hash === 'none' ? null : provider } as never;
      },
      openRuntime: async (_run, { provider }) => {
        const end = async ({ task_id }: { task_id: string }) => {
          if (refusing.includes(provider!.id)) throw new Error('no answer');
          done.push(`ended ${task_id}`);
        };
        return { runtime: { end } } as never;
      },
    });
    return { sessions, done, log };
  }

  it('is ended with the run, and forgotten if it was known', async () => {
    const { sessions, done } = sessionsOf();
    await sessions.endSession('t2', 'far');
    expect(done).toEqual(['ended t2', 'forgot t2']);
    const unnamed = sessionsOf({ cursor: null });
    await unnamed.sessions.endSession('t2', 'far');
    expect(unnamed.done).toEqual(['ended t2']);
  });

  it.each([
    ['of a run that never began', { started_at: null }, 't2', 'far'],
    ['of a run that is gone', {}, 'gone', 'far'],
    ['of a run without a provider', {}, 't2', 'none'],
    ['of a provider that keeps none', {}, 't2', 'open'],
  ])('is not looked for %s', async (_, options, task_id, hash) => {
    const { sessions, done, log } = sessionsOf(options);
    await sessions.endSession(task_id, hash);
    expect([done, log]).toEqual([[], []]);
  });

  it('is left for later if its provider does not answer, and the run ends anyway', async () => {
    const { sessions, done, log } = sessionsOf({ refusing: ['far'] });
    const settlement = { definition_hash: 'far' };
    const settle = vi.fn(async () => settlement as never);
    expect(await sessions.ending(settle)('t2', { status: 'completed' } as never)).toBe(settlement);
    expect(settle.mock.calls).toEqual([['t2', { status: 'completed' }]]);
    expect([done, log]).toEqual([['left t2'], ["The provider's session of the task t2 could not be ended yet: no answer"]]);
    await sessions.endSession('t3', 'unknown');
    expect(log.at(-1)).toBe('The session of the task t3 was not ended: no such definition');
  });

  it('is not looked for if another attempt has settled the run', async () => {
    const { sessions, done, log } = sessionsOf();
    await sessions.ending(async () => ({ definition_hash: null }) as never)('t2', { status: 'completed' } as never);
    expect([done, log]).toEqual([[], []]);
  });

  it('is ended later, once for each provider that does not answer', async () => {
    const { sessions, done } = sessionsOf({ refusing: ['far'] });
    await sessions.endLeft();
    expect(done).toEqual(['left t2', 'ended t5', 'forgot t5']);
  });
});

describe('a file that a tool returns', () => {
  const MIB = 1_024 ** 2;
  const file = (name: string, bytes: number) => ({ name, media_type: 'text/plain', content: new Uint8Array(bytes) });
  function keeperOf(left = Number.POSITIVE_INFINITY) {
    const created: object[] = [];
    const linked: unknown[] = [];
    const store = {
      attachments: {
        create: async ({ content, ...facts }: { name: string; content: Uint8Array }) => {
          created.push(facts);
          return { id: `id of ${facts.name}`, name: facts.name, size: content.length };
        },
        listOfResult: async () => [],
        linkToResult: async (...given: unknown[]) => void linked.push(given),
      },
    };
    const quotas = {
      admitBytes: async (owner: string, bytes: number) => {
        if (bytes > left) throw new AppError('conflict', `${owner} has no room`);
      },
    };
    const setting = { config: readConfig({ ATTACHMENT_MAX_MB: '2' }) };
    return { keep: createFileKeeper({ store, quotas, setting } as never), created, linked };
  }
  const CALL = { task_id: 't', step: 3, position: 5, owner: 'alice' } as never;

  it('belongs to the owner of the run, under its plain name, and is linked to the call', async () => {
    const { keep, created, linked } = keeperOf();
    const { kept, refused } = await keep(CALL, [file('../a/one.txt', 3), file('two.txt', 5)]);
    expect([kept.map(({ name }) => name), refused]).toEqual([['one.txt', 'two.txt'], []]);
    expect(created).toEqual(['one.txt', 'two.txt'].map((name) => ({ name, media_type: 'text/plain', created_by: 'alice' })));
    expect(linked).toEqual([[CALL, kept]]);
  });

  it('is refused above the limit, and where its owner has no room, without the others', async () => {
    const { keep } = keeperOf();
    const { kept, refused } = await keep(CALL, [file('large', 2 * MIB + 1), file('just', 2 * MIB)]);
    expect([kept.map(({ name }) => name), refused]).toEqual([
      ...[['just'], [{ name: 'large', reason: 'it is larger than 2 MiB (ATTACHMENT_MAX_MB)' }]],
    ]);
    const full = keeperOf(3);
    expect(await full.keep(CALL, [file('a', 5)])).toEqual({ kept: [], refused: [{ name: 'a', reason: 'alice has no room' }] });
    expect(full.linked).toEqual([]);
  });
});

describe('the sizes that the doctor shows', () => {
  const before = (hours: number, database: number): SizeSample => ({
    ...{ at: new Date(Date.now() - hours * 3_600_000).toISOString(), database, engine: null, home: null, disk_free: null },
  });
  const checksOf = (samples: SizeSample[], home = '/nowhere/at/all') => {
    const sizes = {
      database: async () => 70_000,
      samples: async () => samples,
      largestTables: async (limit: number) =>
        [7, 5, 3, 2, 1].slice(0, limit).map((thousand) => ({ name: `t${thousand}`, bytes: thousand * 1_000 })),
    };
    return sizeChecks({ store: { sizes }, setting: { config: readConfig({ PERDURA_HOME: home }) } } as never);
  };

  it('name the growth of a day and the four largest tables', async () => {
    expect(await checksOf([before(48, 10_000)])['size of the database']!()).toMatch(
      /^70\.0 kB, 30\.0 kB more a day; largest: t7 7\.0 kB, t5 5\.0 kB, t3 3\.0 kB, t2 2\.0 kB$/,
    );
    expect(await checksOf([])['size of the database']!()).toContain('70.0 kB, growth unknown yet');
  });

  it.each([
    [1, 'a day'],
    [7, '7 days'],
  ])('name the size of the embedded engine, and that the disk is full in %i days', async (days, text) => {
    const home = await mkdtemp(join(tmpdir(), 'perdura-sizes-'));
    const file = join(home, ENGINE_FILE);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, Buffer.alloc(8_192, 1));
    const { bavail, bsize } = await statfs(home);
    const at = new Date(Date.now() - 24 * 3_600_000).toISOString();
    const earlier = { at, database: 10_000, engine: 4_096, home: null, disk_free: bavail * bsize * (1 + 1 / days) };
    const checks = checksOf([earlier], home);
    expect(await checks['size of the engine']!()).toBe('8.2 kB, 4.1 kB more a day');
    expect(await checks.disk!()).toContain(`, full in about ${text} at this rate`);
    await rm(home, { recursive: true });
  });

  it('are unknown for what this machine does not have', async () => {
    const checks = checksOf([]);
    expect(await checks['size of the engine']!()).toBe('unknown, because it is not the embedded one');
    for (const name of ['size of the home', 'disk'])
      expect(await checks[name]!()).toContain('unknown, because this machine does not have /nowhere/at/all');
  });
});
