import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { clientTypes } from '../../../clients/typescript/generate.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const FILE = 'src/client/generated/api.ts';

it('describes the API as it is; after a change of a contract, run `npm run client-types`', async () => {
  const formatter = ['format', `--stdin-file-path=${FILE}`];
  const { stdout } = spawnSync(resolve(ROOT, 'node_modules/.bin/biome'), formatter, { cwd: ROOT, input: await clientTypes() });
  expect(readFileSync(resolve(ROOT, FILE), 'utf8') === stdout.toString()).toBe(true);
});
