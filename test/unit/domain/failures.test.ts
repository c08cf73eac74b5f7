import { describe, expect, it } from 'vitest';
import {
  AppError,
  conflict,
  foreign,
  isSecretNotGranted,
  notFound,
  one,
  overLimit,
  refusalIn,
  secretNotGranted,
  secretRefusal,
  tokenMissing,
  unprocessable,
} from '../../../src/domain/errors.ts';
import { engineOutageOf, outageOf } from '../../../src/domain/outages.ts';
import { OutsideRefused, outsideRefusalIn, outsideSentence, shortened } from '../../../src/domain/outside.ts';

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
    expect([refused, missing, other].map(refusalIn)).toEqual(['secret_not_granted: no', 'token_missing: none', 'x']);
  });
});

describe('what came from outside and is too large', () => {
  const refused = new OutsideRefused('too long', 'answer_too_large');

  it('is found among the causes of an error', () => {
    const deep = new Error('outer', { cause: new Error('inner', { cause: refused }) });
    expect([refused, deep, new Error('x'), new Error('x', { cause: 'y' }), null].map(outsideRefusalIn)).toEqual([
      ...[refused, refused, null, null, null],
    ]);
    expect(outsideSentence(deep)).toBe('answer_too_large: outer');
    expect(outsideSentence(new Error('plain'))).toBe('plain');
    expect(refused.name).toBe('OutsideRefused');
  });

  it('is quoted in part', () => {
    expect(shortened('x'.repeat(2_000))).toBe('x'.repeat(2_000));
    expect(shortened('x'.repeat(2_001))).toBe(`${'x'.repeat(2_000)} [cut here: 1 more characters]`);
    expect(shortened('ab😀', 3)).toBe('ab\ufffd [cut here: 1 more characters]');
  });
});

describe('an outage', () => {
  const UNREACHABLE = ['database_unavailable', 'The database is unreachable'];
  const SLOW = ['database_unavailable', 'The database did not answer in time'];
  const BUSY = ['database_unavailable', 'The database had to break off competing statements'];
  const CONNECTIONS = ['too_many_connections', 'The database has too many connections'];
  const POOL = ['too_many_connections', 'All database connections of this process are in use'];
  const BROKEN = ['database_unavailable', 'The database cannot read or write its files'];
  const FILES = ['too_many_open_files', 'Too many files and connections are open on this machine'];
  const DISK = ['disk_full', 'The disk is full: this process has no room left to write'];
  const seen = (error: unknown) => {
    const outage = outageOf(error);
    return outage && [outage.code, outage.sentence];
  };

  it.each<[string, string[]]>([
    ['08000', UNREACHABLE],
    ['08006', UNREACHABLE],
    ['53000', UNREACHABLE],
    ['53100', ['disk_full', 'The disk is full: the database has no room left to write']],
    ['53200', ['out_of_memory', 'The database is out of memory']],
    ['53300', CONNECTIONS],
    ['53400', UNREACHABLE],
    ['57P01', UNREACHABLE],
    ['57P03', UNREACHABLE],
    ['58030', BROKEN],
    ['58P01', BROKEN],
    ['25006', ['database_unavailable', 'The database accepts no writes now']],
    ['25P03', UNREACHABLE],
    ['40001', BUSY],
    ['40P01', BUSY],
    ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ENOTFOUND', 'P1001', 'P1017'].map(
      (code) => [code, UNREACHABLE] as [string, string[]],
    ),
    ...['P1002', 'P1008', 'SocketTimeout'].map((code) => [code, SLOW] as [string, string[]]),
    ...['DatabaseNotReachable', 'ConnectionClosed'].map((code) => [code, UNREACHABLE] as [string, string[]]),
    ['ENOSPC', DISK],
    ['EDQUOT', DISK],
    ['ENOMEM', ['out_of_memory', 'This machine is out of memory']],
    ['EMFILE', FILES],
    ['ENFILE', FILES],
    ['P2024', POOL],
    ['P2034', BUSY],
    ['P2037', CONNECTIONS],
    ['TooManyConnections', CONNECTIONS],
    ['TransactionWriteConflict', BUSY],
    ['engine_unavailable', ['engine_unavailable', 'The workflow engine is unreachable']],
  ])('with the code %s', (code, outage) => {
    expect(seen({ code })).toEqual(outage);
    expect(seen({ originalCode: code })).toEqual(outage);
    expect(seen({ kind: code })).toEqual(outage);
    expect(seen(new Error('x', { cause: { code } }))).toEqual(outage);
    expect(seen({ meta: { driverAdapterError: { cause: { kind: code } } } })).toEqual(outage);
  });

  it.each([
    ['Connection terminated', UNREACHABLE],
    ['Connection terminated unexpectedly', UNREACHABLE],
    ['Connection terminated due to connection timeout', SLOW],
    ['Client has encountered a connection error and is not queryable', UNREACHABLE],
    ['Client was closed and is not queryable', UNREACHABLE],
    ['Query read timeout', SLOW],
    ['timeout expired', SLOW],
    ['timeout exceeded when trying to connect', POOL],
  ])('that has no code: %s', (message, outage) => {
    expect(seen(new Error(message))).toEqual(outage);
  });

  it.each([
    { code: '23505' },
    { code: '42P01' },
    { code: '57014' },
    { code: '25001' },
    { code: '40002' },
    { code: 53100 },
    { code: '531000' },
    { code: 'x5310' },
    { code: '08' },
    { code: '5310' },
    { code: 'X53100' },
    { code: '53100x' },
    { code: 'P2002' },
    { code: 'constructor' },
    { message: 'constructor' },
    { message: 'Connection terminated.' },
    {},
    null,
    'ECONNREFUSED',
    undefined,
  ])('is none in %j', (error) => {
    expect(outageOf(error)).toBeNull();
  });

  it('is read from the first code that is known, before that of a cause', () => {
    expect(seen({ code: 'x', originalCode: '53100', cause: { code: '53300' } })?.[0]).toBe('disk_full');
    expect(seen({ code: '53300', kind: '53100' })).toEqual(CONNECTIONS);
  });

  it('of the engine is one of four states', () => {
    const known = Array.from({ length: 17 }, (_, code) => [code, engineOutageOf(code)] as const).filter(([, outage]) => outage);
    expect(known.map(([code, outage]) => [code, outage?.code, outage?.sentence])).toEqual([
      [1, 'engine_unavailable', 'The workflow engine is unreachable'],
      [4, 'engine_unavailable', 'The workflow engine did not answer in time'],
      [8, 'engine_unavailable', 'The workflow engine has more requests than it can serve'],
      [14, 'engine_unavailable', 'The workflow engine is unreachable'],
    ]);
  });
});
