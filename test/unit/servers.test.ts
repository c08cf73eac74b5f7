import { mkdtemp, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readConfig } from '../../src/main/config.ts';
import { createResources } from '../../src/main/resources.ts';
import { startServers } from '../../src/main/servers.ts';

it('a namespace for the Temporal of npm start, which has none but its own, is refused before anything is written', async () => {
  const home = await mkdtemp(join(tmpdir(), 'perdura-servers-'));
  const config = readConfig({ PERDURA_HOME: home, TEMPORAL_NAMESPACE: 'production' });
  const resources = createResources(() => {});
  await expect(startServers(config, resources, () => {})).rejects.toThrow(
    /^TEMPORAL_NAMESPACE=production is for a server that TEMPORAL_ADDRESS names; .* Set both, or neither$/,
  );
  expect(await readdir(home)).toEqual([]);
});
