import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createResources, type Resources } from '../../src/main/resources.ts';
import { type Installation, startInstallation } from '../chaos/installation.ts';
import { type Client, clientOf } from '../support/client.ts';
import { type ModelServer, startModelServer } from '../support/peers/model-server.ts';

export interface Scene extends Installation {
  model: ModelServer;
  client: Client;
  resources: Resources;
  /** Creates something and returns its id. */
  made(path: string, body: object): Promise<string>;
  /** A provider for the scripted model. */
  provider_id: string;
  say(line: string): void;
}

export interface SceneOptions {
  workers: number;
  apis?: number;
  env?: Record<string, string>;
}

/** An installation of separate processes with a scripted model, for as long as `use` takes. */
export async function onScene(
  { workers, apis = 1, env = {} }: SceneOptions,
  use: (scene: Scene) => Promise<void>,
): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), 'perdura-endurance-'));
  const resources = createResources((error) => console.error(error));
  const start = Date.now();
  const say = (line: string) => console.log(`${((Date.now() - start) / 1000).toFixed(0).padStart(4)} s  ${line}`);
  try {
    const model = resources.hold(await startModelServer(), (it) => it.stop());
    const installation = await startInstallation(resources, { home, workers, apis, env, log: say });
    const client = clientOf(installation.urls[0]!, installation.token);
    const made = async (path: string, body: object) => (await client.ok(client.post(path, body))).id as string;
    const values = { provider_type: 'openai_compatible', base_url: model.url, default_model: 'scripted' };
    const provider_id = await made('/api/providers', { name: 'scripted', ...values });
    await use({ ...installation, model, client, resources, made, provider_id, say });
    const { workers: all, apis: doors } = installation.fleet;
    await Promise.all([...all, ...doors].map((member) => member.stop()));
  } finally {
    await resources.close();
    await rm(home, { recursive: true, force: true });
  }
}
