import { expect, it } from 'vitest';
import { conflict } from '../../src/domain/errors.ts';
import { versionStore } from '../../src/store/resources/versions.ts';

const SAVER = { key: 'local:alice', login: 'alice' };

/** A store without a database: writing a version fails. */
const storeOf = (snapshot: () => Promise<never>) => versionStore({ snapshot } as never);

it('a workflow that is gone, or cannot run, has no version to note', async () => {
  const gone = storeOf(async () => undefined as never);
  expect(await gone.current('w')).toBeNull();
  await gone.note('w', SAVER);
  const refused = storeOf(() => Promise.reject(conflict('Its provider is gone', 'provider_missing')));
  await refused.note('w', SAVER);
  await expect(refused.current('w')).rejects.toMatchObject({ code: 'provider_missing' });
});

it('a version is not silently left out while the database is down', async () => {
  const fault = new Error('down');
  await expect(storeOf(() => Promise.reject(fault)).note('w', SAVER)).rejects.toBe(fault);
});
