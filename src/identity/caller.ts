import type { Authority } from '../domain/access.ts';
import type { Identity } from './cached-identity.ts';

/** The caller and their access token. The token is only stored sealed and sent to the default runtime. */
export interface Caller extends Identity, Authority {
  /** `provider:subject`: the owner key of resources. */
  key: string;
  access_token: string;
  is_admin: boolean;
}
