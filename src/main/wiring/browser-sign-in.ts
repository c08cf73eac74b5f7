import type { BrowserSignIn } from '../../api/sign-in/browser-sign-in.ts';
import { oidcLogin } from '../../identity/oidc-login.ts';
import type { SharedServices } from '../core.ts';
import { createInstallationFetch } from './egress.ts';

/** Creates the browser sign-in; null: the environment has no OIDC_CLIENT_ID. */
export function createBrowserSignIn({ setting, keys }: Pick<SharedServices, 'setting' | 'keys'>): BrowserSignIn | null {
  const { config, public_url } = setting;
  const { OIDC_CLIENT_ID: client_id, OIDC_ISSUER: issuer } = config;
  if (!client_id) return null;
  if (!issuer) throw new Error('OIDC_CLIENT_ID is set: set OIDC_ISSUER, too');
  const login = oidcLogin({
    issuer,
    client_id,
    client_secret: config.OIDC_CLIENT_SECRET ?? null,
    scopes: config.OIDC_SCOPES,
    role_claim: config.OIDC_ROLE_CLAIM ?? null,
    fetch: createInstallationFetch(config),
  });
  return { login, name: config.OIDC_NAME ?? new URL(issuer).host, session_hours: config.SESSION_HOURS, public_url, keys };
}
