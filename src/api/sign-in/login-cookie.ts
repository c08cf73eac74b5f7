import type { LoginChecks } from '../../identity/oidc-login.ts';
import type { KeyRing } from '../../store/secrets/key-ring.ts';

/** A sign-in in progress. */
interface Login extends LoginChecks {
  /** The page of the dashboard to show afterwards. */
  return_to: string;
  expires_at: number;
}

const CONTEXT = 'sign-in in progress';

/** Seals the sign-in, so that only a process of this installation can have made it, and no one can read its verifier. */
export function sealLogin(keys: Pick<KeyRing, 'seal'>, login: Login): string {
  const { sealed, key_id } = keys.seal(JSON.stringify(login), CONTEXT);
  return [Buffer.from(key_id), sealed].map((part) => Buffer.from(part).toString('base64url')).join('.');
}

/** Returns the sign-in; null if the cookie is invalid or too old. */
export function openLogin(keys: Pick<KeyRing, 'openQuietly'>, cookie: string | null): Login | null {
  const [key_id, sealed] = (cookie ?? '').split('.').map((part) => Buffer.from(part, 'base64url'));
  if (!key_id || !sealed) return null;
  try {
    const login = JSON.parse(keys.openQuietly({ key_id: key_id.toString(), sealed: new Uint8Array(sealed) }, CONTEXT)) as Login;
    return login.expires_at > Date.now() ? login : null;
  } catch {
    return null;
  }
}
