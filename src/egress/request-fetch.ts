import { type Dispatcher, interceptors, request } from 'undici';
import { reasonOf } from '../domain/reason.ts';
import { type ByteSource, bodyOf } from '../domain/relayed-body.ts';
import { REDIRECTS } from './redirects.ts';

type Fetch = typeof globalThis.fetch;
type Answer = Dispatcher.ResponseData;

const DEFAULTS = { accept: '*/*', 'accept-encoding': 'br, gzip, deflate', 'user-agent': 'perdura' };
const TEXT = 'text/plain;charset=UTF-8';
/** Of answers without a body. */
const BARE = new Set([204, 205, 304]);
const LARGEST_STATUS = 599;

/**
 * A fetch over undici's `request`, which needs less CPU time than its fetch: about a third less for a request, a quarter for each token
 * of a streamed answer. Redirects are not followed. Errors are those of fetch, with the reason as their message.
 */
export function requestFetch(dispatcher: Dispatcher): Fetch {
  const unpacking = dispatcher.compose(interceptors.decompress({ skipErrorResponses: false }));
  return async (input, init) => {
    const {
      method = 'GET',
      signal,
      redirect,
      headers,
      body,
    } = input instanceof Request ? new Request(input, init) : (init ?? {});
    signal?.throwIfAborted();
    const url = input instanceof Request ? input.url : String(input);
    const sent = { ...(await contentOf({ headers, body })), method: method.toUpperCase() as Dispatcher.HttpMethod };
    const answer = await request(url, { ...sent, signal: signal ?? null, dispatcher: unpacking }).catch((error: Error) => {
      throw signal?.aborted ? signal.reason : new TypeError(reasonOf(error), { cause: error });
    });
    const source = sourceIn(answer, signal);
    try {
      return responseOf(answer, { url, source, redirect });
    } catch (error) {
      await source.cancel();
      throw error;
    }
  };
}

/** Headers and body as they are sent. */
async function contentOf({ headers, body }: Pick<RequestInit, 'headers' | 'body'>) {
  const given = { ...DEFAULTS, ...Object.fromEntries(new Headers(headers)) };
  if (body == null) return { headers: given };
  // A transcript is long, and sent as it is.
  if (typeof body === 'string') return { headers: { 'content-type': TEXT, ...given }, body };
  const carrier = new Response(body);
  const type = carrier.headers.get('content-type');
  return { headers: { ...(type ? { 'content-type': type } : {}), ...given }, body: await carrier.bytes() };
}

function responseOf(
  answer: Answer,
  { url, source, redirect }: { url: string; source: ByteSource; redirect: RequestInit['redirect'] },
): Response {
  const { statusCode: status, statusText, headers } = answer;
  if (redirect === 'error' && headers.location !== undefined && REDIRECTS.has(status))
    throw new TypeError('a redirect is not followed');
  if (status > LARGEST_STATUS) throw new TypeError(`the answer has the status ${status}, which does not exist`);
  const response = new Response(BARE.has(status) ? null : bodyOf(source), { status, statusText, headers: headersOf(headers) });
  return Object.defineProperty(response, 'url', { value: url });
}

const headersOf = (headers: Answer['headers']): [string, string][] =>
  Object.entries(headers).flatMap(([name, value = []]) => [value].flat().map((one): [string, string] => [name, one]));

/** A body that breaks off fails as that of fetch does. */
function sourceIn({ body }: Answer, signal: AbortSignal | null | undefined): ByteSource {
  // A reader gets the error, and there may be none.
  body.on('error', () => {});
  const chunks: AsyncIterator<Uint8Array, undefined> = body[Symbol.asyncIterator]();
  return {
    async read() {
      try {
        const { done, value } = await chunks.next();
        return done ? { done: true } : { done: false, value };
      } catch (error) {
        throw signal?.aborted ? signal.reason : new TypeError('terminated', { cause: error });
      }
    },
    async cancel(reason) {
      body.destroy(reason instanceof Error ? reason : undefined);
    },
  };
}
