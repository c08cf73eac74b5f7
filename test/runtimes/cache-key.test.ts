import { expect, it } from 'vitest';
import { createCacheKey } from '../../src/temporal/activities/cache-key.ts';

it('the key of a cache is the same for a workflow and its owner, another one for others, and names neither', () => {
  const own = { workflow_id: '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be011', owner: 'local:alice' };
  const key = createCacheKey(own);
  expect(key).toMatch(/^[0-9a-f]{32}$/);
  expect(createCacheKey({ ...own })).toBe(key);
  const others = [
    { ...own, owner: 'local:bob' },
    { ...own, workflow_id: '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be013' },
  ].map(createCacheKey);
  expect(new Set([key, ...others]).size).toBe(3);
});
