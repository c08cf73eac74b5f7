import { keys, ServiceKeyCreate } from '../../contracts/keys.ts';
import { When } from '../ui/time.tsx';
import { text } from './columns.tsx';
import { KeyPanel, MadeKey } from './panels/key-panel.tsx';
import type { ResourceScreen } from './resource.ts';

export const KEYS: ResourceScreen = {
  title: 'Service keys',
  noun: 'service key',
  about: 'An access token for a program. It acts as you, limited by its role and scopes, until it expires or you delete it.',
  endpoints: keys,
  create: ServiceKeyCreate,
  columns: [
    text('Key', ({ hint }) => hint),
    text('Owner', ({ owner_login }) => owner_login),
    text('Role', ({ role }) => role),
    text('Scopes', ({ scopes }) => scopes.join(', ')),
    { label: 'Expires', show: ({ expires_at }) => <When at={expires_at} none="never" /> },
    { label: 'Last used', show: ({ last_used_at }) => <When at={last_used_at} none="never" /> },
  ],
  removes: 'with the keys that were made with it. Programs that use them are refused within seconds',
  overrides: { expires_at: { control: 'time' } },
  Panel: KeyPanel,
  Made: MadeKey,
};
