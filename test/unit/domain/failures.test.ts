import { describe, expect, it } from 'vitest';
import {
  AppError,
  conflict,
  foreign,
  formatRefusal,
  isSecretNotGranted,
  notFound,
  one,
  overLimit,
  secretNotGranted,
  secretRefusal,
  tokenMissing,
  unprocessable,
} from '../../../src/domain/errors.ts';
import { asLack, asOutage, findOutage, type Outage, OutageError } from '../../../src/domain/outages.ts';
import { findOutsideRefusal, OutsideRefused, outsideSentence, truncate } from '../../../src/domain/outside.ts';

describe('a refusal', () => {
  it.each<[string, () => AppError, Partial<AppError>]>([
    ['notFound', () => notFound('agent', '1'), { kind: 'not_found', code: 'not_found', message: 'No agent with id 1' }],
    ['foreign', () => foreign('agent'), { kind: 'forbidden', code: 'forbidden', message: 'This agent belongs to someone else' }],
    ['conflict', () => conflict('Taken'), { kind: 'conflict', code: 'conflict', message: 'Taken' }],
    ['conflict', () => conflict('Taken', 'name_taken'), { kind: 'conflict', code: 'name_taken' }],
    ['secretNotGranted', () => secretNotGranted('Ask'), { kind: 'forbidden', code: 'secret_not_granted', message: 'Ask' }],
    ['tokenMissing', () => tokenMissing('Add it'), { kind: 'conflict', code: 'token_missing', message: 'Add it' }],
    [
      'overLimit',
      () => overLimit('Slow', { code: 'slow' }),
      { kind: 'too_many', code: 'slow', message: 'Slow', retry_after_s: 5 },
    ],
    ['overLimit', () => overLimit('Slow', { code: 'slow', retry_after_s: 9 }), { retry_after_s: 9 }],
    [
      'new AppError',
      () => new AppError('invalid', 'No'),
      { name: 'AppError', code: 'invalid', errors: undefined, retry_after_s: undefined },
    ],
  ])('made by %s', (_, make, facts) => {
    const error = make();
    expect(error).toMatchObject(facts);
    expect(error).toBeInstanceOf(Error);
  });

  it('of fields is one sentence that names each of them once', () => {
    const errors = [
      { path: 'name', message: 'is taken' },
      { path: 'a.b', message: '`a.b` must be text' },
      { path: '', message: 'Nothing was sent' },
      { path: 'b', message: '`a.b` is wrong, too' },
    ];
    const error = unprocessable(errors);
    expect(error).toMatchObject({ kind: 'unprocessable', code: 'invalid_fields', errors });
    expect(error.message).toBe('name: is taken; `a.b` must be text; Nothing was sent; b: `a.b` is wrong, too');
    expect(unprocessable([], 'x').code).toBe('x');
  });

  it.each([
    ['agent', 'an agent'],
    ['skill', 'a skill'],
    ['MCP server', 'an MCP server'],
    ['Item', 'an Item'],
    ['mcp server', 'an mcp server'],
    ['task of an agent', 'a task of an agent'],
    ['open item', 'an open item'],
    ['upload', 'an upload'],
    ['event', 'an event'],
  ])('speaks of %s as %s', (noun, words) => {
    expect(one(noun)).toBe(words);
  });

  it('about a stored token is recognised by its code', () => {
    const [refused, missing, other] = [secretNotGranted('no'), tokenMissing('none'), conflict('x')];
    expect([refused, missing, other, 'secret_not_granted', null].map(isSecretNotGranted)).toEqual([
      true,
      false,
      false,
      false,
      false,
    ]);
    expect([refused, missing, other, { code: 'token_missing' }].map(secretRefusal)).toEqual([
      'secret_not_granted',
      'token_missing',
      null,
      null,
    ]);
    expect([refused, missing, other].map(formatRefusal)).toEqual(['secret_not_granted: no', 'token_missing: none', 'x']);
  });
});

describe('what came from outside and is too large', () => {
  const refused = new OutsideRefused('too long', 'answer_too_large');

  it('is found among the causes of an error', () => {
    const deep = new Error('outer', { cause: new Error('inner', { cause: refused }) });
    expect([refused, deep, new Error('x'), new Error('x', { cause: 'y' }), null].map(findOutsideRefusal)).toEqual([
      ...[refused, refused, null, null, null],
    ]);
    expect(outsideSentence(deep)).toBe('answer_too_large: outer');
    expect(outsideSentence(new Error('plain'))).toBe('plain');
    expect(refused.name).toBe('OutsideRefused');
  });

  it('is quoted in part', () => {
    expect(truncate('x'.repeat(2_000))).toBe('x'.repeat(2_000));
    expect(truncate('x'.repeat(2_001))).toBe(`${'x'.repeat(2_000)} [cut here: 1 more characters]`);
    expect(truncate('ab😀', 3)).toBe('ab\ufffd [cut here: 1 more characters]');
  });
});

describe('an outage', () => {
  const FILES = [
    'too_many_open_files',
    'Too many files and connections are open on this machine; raise the limit of open files (`ulimit -n`, LimitNOFILE)',
  ];
  const DISK = [
    'disk_full',
    'The disk is full: this process has no room left to write; make room on the disks of PERDURA_HOME and TMPDIR',
  ];
  const MARKED: Outage = { code: 'database_unavailable', sentence: 'The database is unreachable' };
  const seen = (error: unknown) => {
    const outage = findOutage(error);
    return outage && [outage.code, outage.sentence];
  };

  it.each<[string, string[]]>([
    ['ENOSPC', DISK],
    ['EDQUOT', DISK],
    ['ENOMEM', ['out_of_memory', 'This machine is out of memory']],
    ['EMFILE', FILES],
    ['ENFILE', FILES],
  ])('of this machine has the code %s', (code, outage) => {
    expect(seen({ code })).toEqual(outage);
    expect(seen(new Error('x', { cause: { code } }))).toEqual(outage);
  });

  it('of this machine is no more processes, if one cannot be started for now', () => {
    expect(seen({ code: 'EAGAIN', syscall: 'spawn git' })?.[0]).toBe('too_many_processes');
    expect(seen({ code: 'EAGAIN', syscall: 'read' })).toBeNull();
  });

  const failed = (code: string) =>
    Object.assign(new Error(`${code}: it failed, mkdtemp '/secret/.draft-1'`), {
      code,
      syscall: 'spawn',
      path: '/secret/.draft-1',
    });
  it.each(['ENOSPC', 'EDQUOT', 'ENOMEM', 'EMFILE', 'ENFILE', 'EAGAIN'])('of this machine shows no path: %s', (code) => {
    const lack = asLack(new Error('outer', { cause: failed(code) }), 'the workspaces (PERDURA_HOME)') as OutageError;
    expect(lack).toBeInstanceOf(OutageError);
    expect([lack.message, String(lack.stack), lack.cause].join()).not.toContain('/secret');
    expect(findOutage(lack)?.code).toBe(findOutage(failed(code))?.code);
    const names = code === 'ENOSPC' || code === 'EDQUOT';
    expect(lack.message.includes('no room for the workspaces (PERDURA_HOME); make room there')).toBe(names);
  });

  it.each([...['EACCES', 'EPERM', 'ENOENT', 'EIO', 'EROFS'].map(failed), new OutageError(MARKED, failed('ENOSPC')), null])(
    'is not made of anything else: %s',
    (error) => {
      expect(asLack(error)).toBe(error);
    },
  );

  it('is known by its mark, also as a cause and in what Prisma makes of it', () => {
    const cause = new Error('connect ECONNREFUSED');
    const error = new OutageError(MARKED, cause);
    expect(error).toMatchObject({ code: MARKED.code, cause, message: 'The database is unreachable: connect ECONNREFUSED' });
    for (const found of [error, new Error('x', { cause: error }), { code: 'x', meta: { ...error.meta } } as object])
      expect(findOutage(found)).toBe(MARKED);
    expect(findOutage(asOutage(new Error('x'), MARKED))).toBe(MARKED);
    const several = new AggregateError([new Error('a'), new Error('b')]);
    expect(new OutageError(MARKED, several).message).toBe('The database is unreachable: a; b');
    expect(new OutageError(MARKED, null).message).toBe(MARKED.sentence);
  });

  it.each(['P1001', 'P1017', 'P2024', 'P2028', 'P2034', 'P2037'])('that Prisma itself reports has the code %s', (code) => {
    expect(seen({ code })?.[0]).toBe('database_unavailable');
  });

  const ring: { cause?: unknown } = {};
  ring.cause = { cause: ring };
  it.each([
    ...['23505', '42P01', 'ECONNREFUSED', 'ENOTFOUND', 'P2002', 'P20240', 'constructor'].map((code) => ({ code })),
    ...[{ meta: { outage: MARKED } }, { message: 'constructor' }, {}, null, 'ENOSPC', undefined, ring],
  ])('is none in %j', (error) => {
    expect(findOutage(error)).toBeNull();
  });
});
