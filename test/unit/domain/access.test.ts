import { expect, it } from 'vitest';
import {
  highestRole,
  isBrowserSession,
  isServiceKey,
  isWithin,
  lowerRole,
  SCOPES,
  SCOPES_OF,
} from '../../../src/domain/access.ts';

it('each role has its scopes, and only administrators read the audit trail', () => {
  expect(SCOPES_OF).toEqual({
    viewer: ['read'],
    editor: ['read', 'run', 'write', 'keys'],
    administrator: [...SCOPES],
  });
});

it('of two roles the lower one is taken, and of many the highest that is known', () => {
  expect([lowerRole('editor', 'viewer'), lowerRole('editor', 'administrator'), lowerRole('viewer', 'viewer')]).toEqual([
    ...['viewer', 'editor', 'viewer'],
  ]);
  expect([
    highestRole(['viewer', 'owner', 'editor']),
    highestRole(['administrator', 'viewer']),
    highestRole(['owner', 7]),
  ]).toEqual([...['editor', 'administrator', null]]);
});

it.each([
  ['the same', { role: 'editor', scopes: ['read', 'run'] }, true],
  ['a lower role with fewer scopes', { role: 'viewer', scopes: ['read'] }, true],
  ['a higher role', { role: 'administrator', scopes: ['read'] }, false],
  ['a lower role with another scope', { role: 'viewer', scopes: ['read', 'keys'] }, false],
] as const)('who may read and run as an editor can pass on %s: %j, %j', (_, asked, may) => {
  expect(isWithin(asked, { role: 'editor', scopes: ['read', 'run'] })).toBe(may);
});

it('a key of the service and the id of a session are known by their beginning and their length', () => {
  const rest = `${'aZ0_-'.repeat(10)}abcd`;
  expect([`pk_${rest}`, `ps_${rest}`, `pk_${rest}x`, `pk_${rest.slice(1)}`, ` pk_${rest}`].map(isServiceKey)).toEqual([
    ...[true, false, false, false, false],
  ]);
  expect([`pk_${rest}`, `ps_${rest}`, `ps_${rest}x`, `ps_${rest.slice(1)}`, ` ps_${rest}`].map(isBrowserSession)).toEqual([
    ...[false, true, false, false, false],
  ]);
});
