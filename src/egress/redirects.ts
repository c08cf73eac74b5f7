type Fetch = typeof globalThis.fetch;

const MOST = 10;
export const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Headers that are sent to another origin; any other header may be a credential under a custom name. */
const HARMLESS = new Set(['accept', 'accept-language', 'content-type', 'user-agent']);
const OF_THE_BODY = ['content-type', 'content-length', 'content-encoding', 'content-language', 'content-location'];

/**
 * A fetch that follows redirects as the standard says, but sends no possible credential to another origin: the standard drops only
 * `authorization` and `cookie`, not `x-api-key`. A body that is resent (307, 308) does not leave its origin.
 */
export function followRedirects(fetch: Fetch): Fetch {
  return async (input, init = {}) => {
    if (input instanceof Request || (init.redirect ?? 'follow') !== 'follow') return fetch(input, init);
    let url = new URL(input);
    let request: RequestInit = init;
    for (let hops = 0; hops <= MOST; hops += 1) {
      const response = await fetch(url, { ...request, redirect: 'manual' });
      const location = response.headers.get('location');
      if (!REDIRECTS.has(response.status) || location === null) return response;
      await response.body?.cancel();
      const next = new URL(location, url);
      request = redirectRequest(request, { status: response.status, from: url, to: next });
      url = next;
    }
    throw createFetchError(`more than ${MOST} redirects`);
  };
}

function redirectRequest(request: RequestInit, { status, from, to }: { status: number; from: URL; to: URL }): RequestInit {
  if (!/^https?:$/.test(to.protocol)) throw createFetchError(`a redirect to ${to.protocol} is not followed`);
  const headers = new Headers(request.headers);
  const method = (request.method ?? 'GET').toUpperCase();
  const { body: _, ...bare } = request;
  const asGet = status === 303 ? method !== 'GET' && method !== 'HEAD' : status < 303 && method === 'POST';
  if (asGet) for (const name of OF_THE_BODY) headers.delete(name);
  const resent = asGet ? { ...bare, method: 'GET' } : request;
  if (from.origin === to.origin) return { ...resent, headers };
  if (resent.body) throw createFetchError(`a redirect to another origin, ${to.origin}, is not followed with a body`);
  for (const name of [...headers.keys()]) if (!HARMLESS.has(name)) headers.delete(name);
  return { ...resent, headers };
}

const createFetchError = (reason: string) => new TypeError('fetch failed', { cause: new Error(reason) });
