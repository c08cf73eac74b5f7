import type { IdentityCheck } from '../../identity/cached-identity.ts';
import { type LaterStarts, laterStarts } from '../../identity/later-starts.ts';
import type { AuthorityOf } from '../../identity/roles.ts';
import type { Store } from '../../store/index.ts';
import type { Config } from '../config.ts';

interface Parts {
  config: Config;
  store: Pick<Store, 'principals' | 'serviceKeys'>;
  identify: IdentityCheck;
  authorityOf: AuthorityOf;
}

export const createLaterStarts = ({ config, store, identify, authorityOf }: Parts): LaterStarts =>
  laterStarts({
    principal: store.principals.find,
    findKey: store.serviceKeys.valid,
    identify,
    authorityOf,
    providers: config.IDENTITY_PROVIDERS,
    claims_roles: config.OIDC_ROLE_CLAIM !== undefined,
  });
