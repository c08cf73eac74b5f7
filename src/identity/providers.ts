import { createHash, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { readably } from '../domain/reason.ts';
import type { IdentityCheck } from './cached-identity.ts';
import { pauseWhileLimited, refuseLimited } from './limits.ts';

const TIMEOUT_MS = 10_000;

const Account = z.object({
  id: z.union([z.int(), z.string().min(1)]),
  login: z.string().optional(),
  username: z.string().optional(),
});

interface CodeHost {
  provider: 'github' | 'gitlab' | 'gitea';
  /** The base URL of the provider's API, such as https://api.github.com. */
  api_url: string;
  fetch: typeof globalThis.fetch;
  now?: () => number;
}

const SCHEME = { github: 'Bearer', gitlab: 'Bearer', gitea: 'token' } as const;

/** Identifies the owner of a token with a code-hosting provider: `GET {api_url}/user`. */
export function codeHostIdentity({ provider, api_url, fetch, now = () => performance.now() }: CodeHost): IdentityCheck {
  const check: IdentityCheck = async (access_token) => {
    const answer = await fetch(`${api_url.replace(/\/$/, '')}/user`, {
      headers: { authorization: `${SCHEME[provider]} ${access_token}`, accept: 'application/json', 'user-agent': 'perdura' },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    await refuseLimited(answer, provider);
    if (answer.status === 401 || answer.status === 403) return null;
    if (!answer.ok) throw new Error(`The identity provider ${provider} answered ${answer.status}`);
    const { id, login, username } = await parseAccount(answer).catch((error: Error) => {
      throw readably(error, `The account at the identity provider ${provider}`);
    });
    return { provider, subject: String(id), login: login ?? username ?? String(id) };
  };
  return pauseWhileLimited(provider, check, now);
}

const parseAccount = async (answer: Response) => Account.parse(await answer.json());

interface LocalAccount {
  token: string;
  login: string;
}

/** Accounts of the installation itself, as in embedded mode: each token belongs to one person. */
export function localIdentity(accounts: readonly LocalAccount[]): IdentityCheck {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  const digests = accounts.map(({ token, login }) => ({ login, digest: digest(token) }));
  return async (access_token) => {
    const token_digest = digest(access_token);
    const match = digests.find((account) => timingSafeEqual(account.digest, token_digest));
    return match ? { provider: 'local', subject: match.login, login: match.login } : null;
  };
}
