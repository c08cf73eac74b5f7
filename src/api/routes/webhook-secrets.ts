import { webhookSecrets } from '../../contracts/webhook-secrets.ts';
import type { Store } from '../../store/index.ts';
import { type Api, mount } from '../http/mount.ts';

export function webhookSecretRoutes(
  api: Api,
  { store: { webhookSecrets: store } }: { store: Pick<Store, 'webhookSecrets'> },
): void {
  mount(api, webhookSecrets.get, (_, { key }) => store.describe(key));
  mount(api, webhookSecrets.rotate, (_, { key }) => store.rotate(key));
}
