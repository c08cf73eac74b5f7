import { isBrowserSession } from '../domain/access.ts';
import type { BrowserSession } from '../store/people/browser-sessions.ts';
import type { CachedIdentity, Identity } from './cached-identity.ts';
import { withOwnTokens } from './own-tokens.ts';

export const withBrowserSessions = (
  others: CachedIdentity,
  findSession: (session: string) => Promise<BrowserSession | null>,
): CachedIdentity =>
  withOwnTokens(others, {
    isOne: isBrowserSession,
    async check(session) {
      const browser_session = await findSession(session);
      return browser_session && toIdentity(browser_session);
    },
    unreachable_message: 'Whether you are signed in cannot be checked now; try again shortly',
  });

const toIdentity = ({ provider, subject, login, claimed_role, expires_at }: BrowserSession): Identity => ({
  provider,
  subject,
  login,
  browser_session: true,
  valid_until: expires_at.getTime(),
  ...(claimed_role && { claimed_role }),
});
