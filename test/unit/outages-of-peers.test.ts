import { ServiceError } from '@temporalio/client';
import { NamespaceNotFoundError } from '@temporalio/common';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { findOutage } from '../../src/domain/outages.ts';
import { connectionOutage, statementError } from '../../src/store/database/database-outages.ts';
import { engineOutage } from '../../src/temporal/client/engine-outages.ts';

const ofServer = (code: string | undefined) =>
  Object.assign(new pg.DatabaseError('relation "secret" is not there', 1, 'error'), { code });

/** Every class of SQLSTATEs in the documentation of Postgres, one that nobody knows, and none. */
const CLASSES = (
  '00 01 02 03 08 09 0A 0B 0F 0L 0P 0Z 10 20 21 22 23 24 25 26 27 28 2B 2D 2F 34 38 39 3B 3D 3F 40 42 44 53 54 55 57 58 72 F0 HV ' +
  'P0 XX ZZ'
).split(' ');
const OF_STATEMENTS = ['20', '21', '22', '23', '24', '2F', '34', '38', '39', '42', '44', '54', 'P0'];

describe('what the database answers to a statement', () => {
  it.each(OF_STATEMENTS)('with the class %s is about the statement', (name) => {
    const error = ofServer(`${name}Z99`);
    expect(statementError(error, false)).toBe(error);
    expect(findOutage(error)).toBeNull();
  });

  it.each(CLASSES.filter((name) => !OF_STATEMENTS.includes(name)))(
    'with the class %s is an outage that does not show its text',
    (name) => {
      const { sentence } = findOutage(statementError(ofServer(`${name}Z99`), false))!;
      expect(sentence).toContain('database');
      expect(sentence).not.toContain('secret');
    },
  );

  it('is an outage if it has no code', () => {
    expect(findOutage(statementError(ofServer(undefined), false))).not.toBeNull();
  });

  it.each([
    ['42501', /lacks rights/],
    ['42P01', /perdura migrate/],
    ['42703', /perdura migrate/],
    ['42883', /perdura migrate/],
    ['42P05', /DATABASE_DIRECT_URL/],
    ['25006', /accepts no writes/],
    ['57014', /statement_timeout/],
    ['55P03', /lock_timeout/],
    ['53300', /too many connections/],
    ['57P01', /unreachable/],
    ['57P03', /starting or stopping/],
    ['58030', /cannot read or write its files/],
    ['40001', /competing/],
  ])('with %s says what is missing', (code, sentence) => {
    expect(findOutage(statementError(ofServer(code), false))?.sentence).toMatch(sentence);
  });

  it('is our own fault if the connection can still be used', () => {
    const ours = new TypeError('x is not iterable');
    expect(statementError(ours, false)).toBe(ours);
    expect(findOutage(statementError(ours, true))?.code).toBe('database_unavailable');
    expect(findOutage(statementError(new Error('Query read timeout'), false))?.sentence).toMatch(/in time/);
    const known = connectionOutage(new Error('x'));
    for (const broken of [true, false]) expect(statementError(known, broken)).toBe(known);
    expect(connectionOutage(known)).toBe(known);
  });
});

describe('what opening a connection throws', () => {
  const coded = (code: string, message = code) => Object.assign(new Error(message), { code });
  it.each<[string, unknown, RegExp]>([
    ...CLASSES.map((name) => [`the class ${name}`, ofServer(`${name}Z99`), /^The /] as [string, unknown, RegExp]),
    ['another password', ofServer('28P01'), /password of DATABASE_URL/],
    ['no rights', ofServer('42501'), /refuses the user of DATABASE_URL/],
    ['no such name', coded('ENOTFOUND'), /host of DATABASE_URL/],
    ['a resolver that is down', coded('EAI_AGAIN'), /host of DATABASE_URL/],
    ['a slow network', coded('ETIMEDOUT'), /in time/],
    ['no route', coded('EHOSTUNREACH'), /unreachable/],
    ['several addresses', new AggregateError([coded('ECONNREFUSED'), coded('ECONNREFUSED')]), /unreachable/],
    ['several addresses of an unknown name', new AggregateError([coded('ENOTFOUND')]), /host of DATABASE_URL/],
    ['too many files', coded('EMFILE'), /Too many files/],
    [
      'an authority that is not trusted',
      coded('SELF_SIGNED_CERT_IN_CHAIN', 'self-signed'),
      /certificate .* not trusted: self-signed/,
    ],
    ['an unknown issuer', coded('UNABLE_TO_VERIFY_LEAF_SIGNATURE'), /certificate .* not trusted/],
    ['an old certificate', coded('CERT_HAS_EXPIRED', 'certificate has expired'), /not trusted: certificate has expired/],
    ['another name', coded('ERR_TLS_CERT_ALTNAME_INVALID', 'Hostname/IP does not match'), /not trusted: Hostname/],
    ['a server without TLS', new Error('The server does not support SSL connections'), /offers no TLS/],
    ['another protocol', coded('ERR_SSL_WRONG_VERSION_NUMBER', 'wrong version number'), /refuses TLS: wrong version/],
    ['a full pool', new Error('timeout exceeded when trying to connect'), /in use/],
    ['a slow handshake', new Error('timeout expired'), /in time/],
    ['no password', new Error('SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string'), /has none/],
    ['what nobody has seen yet', new TypeError('x'), /unreachable/],
    ['nothing', undefined, /unreachable/],
  ])('is an outage: %s', (_, error, sentence) => {
    expect(findOutage(connectionOutage(error))?.sentence).toMatch(sentence);
  });
});

describe('what the engine answers', () => {
  const grpc = (code: number, details = '') => Object.assign(new Error(details), { code, details, metadata: {} });
  const REFUSALS = [3, 5, 6, 9, 11];
  const seen = (code: number) =>
    [grpc(code), new ServiceError('x', { cause: grpc(code) })].map((error) => engineOutage(error)?.code);
  const STATUSES = Array.from({ length: 16 }, (_, code) => code + 1);
  it.each(REFUSALS)('with the status %i is a refusal', (code) => {
    expect(seen(code)).toEqual([undefined, undefined]);
  });

  it.each(STATUSES.filter((code) => !REFUSALS.includes(code)))('with the status %i is an outage', (code) => {
    expect(seen(code)).toEqual(['engine_unavailable', 'engine_unavailable']);
  });

  it('about a part that it has lost, or its certificate, names that', () => {
    const lost = /has lost its namespace or search attributes/;
    expect(engineOutage(new NamespaceNotFoundError('default'))?.sentence).toMatch(lost);
    expect(engineOutage(grpc(3, 'search attribute PerduraOwner is not defined'))?.sentence).toMatch(lost);
    expect(engineOutage(grpc(3, 'Namespace default has no mapping defined for search attribute X'))?.sentence).toMatch(lost);
    expect(engineOutage(grpc(14, 'No connection established. Last error: self-signed certificate'))?.sentence).toMatch(
      /TEMPORAL_TLS/,
    );
    expect([new TypeError('x'), new Error('x', { cause: 'y' }), null].map(engineOutage)).toEqual([null, null, null]);
  });
});
