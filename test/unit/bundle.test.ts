import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { workflowBundle } from '../../src/temporal/worker/bundle.ts';

it('bundles workflow code without the packages that have no business in the isolate', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'perdura-bundle-'));
  try {
    const { codePath } = await workflowBundle(folder);
    const code = await readFile(codePath, 'utf8');
    for (const name of ['zod', 'openai', 'ioredis', 'pg', '@prisma']) expect(code).not.toContain(`node_modules/${name}/`);
    // The catalogue of models changes while a history is replayed, and it is large.
    expect(code).not.toContain('known-models');
    expect((await workflowBundle(folder)).codePath).toBe(codePath);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
