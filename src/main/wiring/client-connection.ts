import type { Connection } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { lazyConnection } from '../../temporal/client/client-connection.ts';
import type { InstallationSettings } from '../installation-settings.ts';
import type { Resources } from '../resources.ts';

/** Returns the connection options: TLS and API keys come from Temporal's own variables, the address from Perdura's setting. */
export const connectOptions = ({ temporal_address: address }: Pick<InstallationSettings, 'temporal_address'>) => ({
  ...loadClientConnectConfig().connectionOptions,
  address,
});

export const openClientConnection = (
  setting: Pick<InstallationSettings, 'temporal_address'>,
  resources: Pick<Resources, 'hold'>,
): Connection => resources.hold(lazyConnection(connectOptions(setting)), (it) => it.close());
