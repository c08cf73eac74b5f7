import { createResources } from '../../../src/main/resources.ts';
import { openApi } from '../../../src/main/wiring/api.ts';
import { openSharedServices } from '../../../src/main/wiring/index.ts';
import { type Client, clientOf } from '../client.ts';
import type { TestInstallation } from '../installation.ts';

/** Starts another API server on the installation, which shares nothing with the first one but its database and its engine. */
export async function startSecondApi({
  setting,
  driver,
  people,
}: TestInstallation): Promise<{ url: string; alice: Client; stop(): Promise<void> }> {
  const resources = createResources((error) => console.error(error));
  const core = await openSharedServices(setting, resources, () => {});
  const app = await openApi(core, driver, { resources });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return { url, alice: clientOf(url, people.alice.token), stop: () => resources.close() };
}
