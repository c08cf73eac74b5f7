import { Client, Connection } from '@temporalio/client';
import type { InstallationSettings } from '../../../src/main/installation-settings.ts';

/** Creates a client of the engine, like an operator's own. */
export async function clientForTests({ temporal_address: address, config }: InstallationSettings) {
  const connection = await Connection.connect({ address });
  return {
    client: new Client({ connection, namespace: config.TEMPORAL_NAMESPACE }),
    [Symbol.asyncDispose]: () => connection.close(),
  };
}
