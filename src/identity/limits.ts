import { AppError, IDENTITY_LIMITED } from '../domain/errors.ts';

/** GitHub asks for a wait of at least a minute if it names no time. */
const DEFAULT_WAIT_S = 60;
const LONGEST_WAIT_S = 3_600;
/** A provider is asked again after this time, even if it named a longer one. */
const LONGEST_PAUSE_S = 300;

/** How GitHub and Gitea, and how GitLab begin the names of their headers about limits. The reset is in seconds since 1970. */
const RATE_HEADERS = ['x-ratelimit', 'ratelimit'];
/** Matches GitHub's texts about its secondary limit, by both of its names, and about too many invalid tokens. */
const LIMIT_TEXT = /rate limit|abuse detection|login attempts exceeded/i;

/**
 * Throws if an identity provider has refused a request because of a limit. Such an answer says nothing about the token: code
 * hosts limit requests with 429, and GitHub also with 403.
 */
export async function refuseLimited(answer: Response, provider: string): Promise<void> {
  if (answer.status !== 429 && !(answer.status === 403 && (await isLimit(answer)))) return;
  throw new IdentityLimited(provider, { wait_s: findWait(answer.headers), is_of_token: isOwnLimit(answer.headers) });
}

/** How many requests GitHub takes in an hour from an address without a valid token. Accounts have more. */
const ANONYMOUS_LIMIT = 60;

const isOwnLimit = (headers: Headers): boolean => {
  const used_up = findSpentLimit(headers);
  return used_up !== undefined && Number(headers.get(`${used_up}-limit`)) > ANONYMOUS_LIMIT;
};

/**
 * Asks a provider, except while it limits requests: until then every token is refused at once, so that random tokens cannot
 * prolong the limit.
 */
export function pauseWhileLimited<T>(
  provider: string,
  check: (access_token: string) => Promise<T>,
  now: () => number,
): (access_token: string) => Promise<T> {
  let [limited_until, paused_until] = [0, 0];
  return async (access_token) => {
    if (now() < paused_until) throw new IdentityLimited(provider, { wait_s: Math.ceil((limited_until - now()) / 1_000) });
    try {
      return await check(access_token);
    } catch (error) {
      if (error instanceof IdentityLimited && !error.is_of_token) {
        limited_until = now() + error.wait_s * 1_000;
        paused_until = now() + Math.min(error.wait_s, LONGEST_PAUSE_S) * 1_000;
      }
      throw error;
    }
  };
}

class IdentityLimited extends AppError {
  readonly wait_s: number;
  /** True if one token has used up its own count, which is no reason to refuse others. */
  readonly is_of_token: boolean;

  constructor(provider: string, { wait_s, is_of_token = false }: { wait_s: number; is_of_token?: boolean }) {
    const message = `The identity provider ${provider} is limiting requests; try again in ${wait_s} s`;
    super('unavailable', message, { code: IDENTITY_LIMITED, retry_after_s: wait_s });
    this.wait_s = wait_s;
    this.is_of_token = is_of_token;
  }
}

/** Returns the prefix of the headers of a used-up limit, if there is one. */
const findSpentLimit = (headers: Headers) => RATE_HEADERS.find((prefix) => headers.get(`${prefix}-remaining`) === '0');

const isLimit = async (answer: Response): Promise<boolean> =>
  answer.headers.has('retry-after') || findSpentLimit(answer.headers) !== undefined || LIMIT_TEXT.test(await answer.text());

/** Returns the seconds until the provider answers again: Retry-After, otherwise the time at which its count begins again. */
function findWait(headers: Headers): number {
  const after = headers.get('retry-after');
  const used_up = findSpentLimit(headers);
  const reset_s = Number((used_up && headers.get(`${used_up}-reset`)) ?? Number.NaN);
  const wait_s = after === null ? reset_s - Date.now() / 1_000 : parseAfter(after);
  return Number.isNaN(wait_s) ? DEFAULT_WAIT_S : Math.min(Math.max(1, Math.ceil(wait_s)), LONGEST_WAIT_S);
}

const parseAfter = (text: string): number => (/^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1_000);
