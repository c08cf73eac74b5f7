import { expect, it } from 'vitest';
import { runPriority, toOwnerPriority } from '../../src/temporal/client/priority.ts';

it('an owner keeps one fairness key of at most 64 bytes, and no two owners share one', () => {
  const owners = ['github:1', 'github:2', `oidc:${'é'.repeat(60)}1`, `oidc:${'é'.repeat(60)}2`, 'a'.repeat(64), 'a'.repeat(65)];
  const keys = owners.map((owner) => toOwnerPriority(owner).fairnessKey as string);
  expect(keys.map((key) => Buffer.byteLength(key) <= 64)).toEqual(owners.map(() => true));
  expect(new Set(keys).size).toBe(owners.length);
  expect(owners.map((owner) => toOwnerPriority(owner).fairnessKey)).toEqual(keys);
  expect(keys.slice(0, 2)).toEqual(['github:1', 'github:2']);
});

it('only runs that a schedule started have a lower priority', () => {
  expect(runPriority({ principal: 'github:1', trigger: 'prompt' })).toEqual({ fairnessKey: 'github:1' });
  expect(runPriority({ principal: 'github:1', trigger: 'schedule' })).toEqual({ fairnessKey: 'github:1', priorityKey: 4 });
});
