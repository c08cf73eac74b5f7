import { APIConnectionTimeoutError as VendorTimeout } from '@anthropic-ai/sdk';
import { APIConnectionTimeoutError } from 'openai';
import { getReason, innermost } from '../domain/reason.ts';
import { withoutSlashes } from '../domain/remote-address.ts';

/** The endpoint that was asked. */
export interface AskedEndpoint {
  url: string;
  has_key: boolean;
}

const UNKNOWN_HOST = ['ENOTFOUND', 'EAI_AGAIN', 'ENODATA'];
const UNREACHABLE = ['EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT'];
const UNTRUSTED = /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_|CERT_|ERR_TLS_CERT_)/;
const NOT_TLS = /^(EPROTO|ERR_SSL_)/;
/** A version, as nearly all APIs have it in their path. */
const VERSION = /\/(v\d|api|openai)/;

/** Returns in one sentence why a provider could not be asked, and a remedy. Null: only the error's own message is known. */
export function findConnectionFault(error: unknown, { url }: AskedEndpoint): string | null {
  const { code = '' } = innermost(error) as { code?: string };
  const { hostname, host, protocol } = new URL(url);
  if (UNKNOWN_HOST.includes(code))
    return `The host ${hostname} is not known (${code}): check base_url for a typing error, and the DNS of this server`;
  if (code === 'ECONNREFUSED')
    return `Nothing listens at ${host}: start the model server or correct the port in base_url; in a container, localhost is the container itself`;
  if (code === 'ECONNRESET' || code === 'UND_ERR_SOCKET')
    return `${host} closed the connection without an answer: check that base_url begins with ${protocol === 'https:' ? 'http' : 'https'}:// if the server expects that`;
  if (UNTRUSTED.test(code))
    return `The certificate of ${hostname} is not trusted (${getReason(error)}): use the name the certificate is for, or name its authority in NODE_EXTRA_CA_CERTS`;
  if (NOT_TLS.test(code))
    return `${host} does not answer with TLS: write http:// instead of https:// in base_url, or correct the port`;
  if (UNREACHABLE.includes(code) || error instanceof APIConnectionTimeoutError || error instanceof VendorTimeout)
    return `${host} does not answer: check base_url, and that a firewall lets this server out`;
  return null;
}

/** Returns a message without the status that the clients put in front, as a part of a sentence. */
const plainMessage = (message: string): string => message.replace(/^\d{3} /, '').replace(/\.$/, '');

/** Returns in one sentence what a refusal with this status means, and a remedy. */
export function formatRefusalFault(status: number, message: string, endpoint: AskedEndpoint): string {
  const status_text = `(${status}: ${plainMessage(message)})`;
  if (status === 401)
    return endpoint.has_key
      ? `The endpoint refuses the key ${status_text}: check the provider's stored key, and that it belongs to this vendor`
      : `The endpoint wants a key ${status_text}: store one as a token and name it in api_key_token_name`;
  if (status === 402)
    return `The account has no credit or quota ${status_text}: pay at the vendor, raise the quota, or use another key`;
  if (status === 403)
    return `The key may not use this API ${status_text}: give it access to models at the vendor, or use the key of another project`;
  if (status === 404 || status === 405) return `${formatNoApi(endpoint.url)} ${status_text}: ${pathAdvice(endpoint.url)}`;
  if (status === 429) return `The key works, but its limit is reached ${status_text}: wait, or raise the limit at the vendor`;
  if (status >= 500) return `The endpoint failed ${status_text}: try again later, and look at its own log or status page`;
  return `The endpoint refuses the request ${status_text}: check provider_type and base_url`;
}

const formatNoApi = (url: string) => `There is no model API at ${url}`;

function pathAdvice(url: string): string {
  const { pathname } = new URL(url);
  return VERSION.test(pathname)
    ? 'correct the path of base_url, which ends before /chat/completions'
    : `set base_url to ${withoutSlashes(url)}/v1, or to the path in the vendor's documentation`;
}

export const formatWebPageFault = ({ url }: AskedEndpoint): string =>
  `${url} answers with a web page: base_url must be the address of the API, such as ${new URL(url).origin}/v1, and not of the vendor's site or a sign-in page`;

export const formatNotAnApiFault = ({ url }: AskedEndpoint): string =>
  `${formatNoApi(url)}: what it answers is not a list of models; check base_url and provider_type`;

/** Reports an unknown model, with the names of a few available ones. */
export function formatUnknownModelFault(
  model: string,
  { known, said }: { known: readonly string[]; said: string | null },
): string {
  const some = known.slice(0, 5).join(', ');
  const advice = some ? `set default_model to one that it has, such as ${some}` : 'correct default_model';
  return `The endpoint has no model ${model}${said ? ` (${plainMessage(said)})` : ''}: ${advice}`;
}

export const formatNoToolsFault = (model: string, vendor_message: string): string =>
  `The model ${model} answers but takes no tools (${plainMessage(vendor_message)}): agents need another model, unless they have no tools at all`;

export const formatModelFault = (model: string, vendor_message: string): string =>
  `The endpoint lists its models, but ${model} does not answer (${plainMessage(vendor_message)}): correct default_model or the access of the key`;
