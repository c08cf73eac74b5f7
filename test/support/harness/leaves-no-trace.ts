import { afterAll, beforeEach, expect, vi } from 'vitest';
import { listKnownModels, SHIPPED_MODELS } from '../../../src/domain/known-models.ts';
import { endChildren } from './children.ts';
import { databasesInUse, freeNames } from './second-attempts.ts';

/**
 * Checks that each test file leaves the environment, the folder, the clock and the catalogue of models as it found them, because
 * test files may share a process.
 */
const found = state();
afterAll(endChildren);
afterAll(() => expect(changed(), 'what this file left changed for the files after it').toEqual([]));

let began = new Date();
beforeEach(async ({ task }) => {
  if (task.result?.retryCount) for (const url of databasesInUse) await freeNames(url, began);
  else began = new Date();
});

function state(): Record<string, string | undefined> {
  const { env } = process;
  return {
    ...env,
    'the current folder': process.cwd(),
    'the clock': vi.isFakeTimers() ? 'a fake one' : undefined,
    'the catalogue of models': listKnownModels().length === SHIPPED_MODELS.length ? undefined : 'another one',
  };
}

/** Lists what has changed. It returns only names, because values of the environment may be secrets. */
function changed(): string[] {
  const left = state();
  return Object.keys({ ...found, ...left }).filter((name) => found[name] !== left[name]);
}
