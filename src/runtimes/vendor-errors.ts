import { STATUS_CODES } from 'node:http';
import { isTooDeepText } from '../domain/normalise.ts';
import { truncate } from '../domain/outside.ts';
import type { Fetch } from './reusing-fetch.ts';

type Json = Record<string, unknown>;

/** What a vendor reports, whatever the shape of its body. */
export interface VendorError {
  /** The vendor's sentence. */
  message: string;
  /** The vendor's names of the error, such as `insufficient_quota`, in lower case. */
  names: string[];
  /** The status that the body names; undefined: none. */
  status: number | undefined;
  /** The pause that the body asks for. */
  retry_after_ms: number | undefined;
  /** The size of the context window that the body names in a separate field. */
  context_window?: number | undefined;
}

/** Thrown for an error within a successful answer. */
export class ReportedError extends Error {
  readonly fault: VendorError;
  readonly headers: Headers | undefined;

  constructor({ headers, ...fault }: VendorError & { headers?: Headers }) {
    super(fault.message);
    this.fault = fault;
    this.headers = headers;
  }
}

/** A fetch whose refusals have the one shape that the clients read, `{error: {message}}`. From any other, the message would be lost. */
export function readableErrors(fetch: Fetch): Fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    const { status, headers } = response;
    if (status < 400) return response;
    const text = await response.text();
    const { names, ...fault } =
      text.trim() === '' ? readVendorError(`${STATUS_CODES[status] ?? 'an error'}, and nothing else`) : readVendorError(text);
    const new_headers = new Headers(headers);
    for (const name of ['content-encoding', 'content-length']) new_headers.delete(name);
    new_headers.set('content-type', 'application/json');
    return new Response(JSON.stringify({ error: { ...fault, names } }), { status, headers: new_headers });
  };
}

/** Reads an error that `readableErrors` has passed on. */
export function readPassedError(error: unknown): VendorError {
  const { error: inner = error } = Object(error) as Json;
  const { names, status, retry_after_ms, message, context_window } = Object(inner) as VendorError;
  if (!Array.isArray(names)) return readVendorError(inner);
  return { message, names, status, retry_after_ms, context_window };
}

/** Reads the body of an error, as text or parsed. */
export function readVendorError(body: unknown): VendorError {
  const value = typeof body === 'string' ? parseText(body) : body;
  const found = typeof value === 'string' ? [{ message: value }] : listLayers(value);
  const codes = found.flatMap((layer) => CODE_FIELDS.map((field) => layer[field]));
  const statuses = codes.map(Number).filter((code) => Number.isInteger(code) && code >= 400 && code < 600);
  const names = codes.filter((code) => (typeof code === 'string' || typeof code === 'number') && code !== '');
  const message =
    found.map(findMessage).findLast((text) => text !== null) ?? (found.map(formatScalars).findLast((text) => text !== '') || '');
  const behind = found.map(findMessageBehind).find((text) => text !== null);
  return {
    message: truncate(behind && !message.includes(behind) ? `${message}: ${behind}` : message) || 'an error without a reason',
    names: names.map((name) => String(name).toLowerCase()),
    status: statuses[0],
    retry_after_ms: found.map(findRetryDelay).find((delay) => delay !== undefined) ?? findDelayInText(message),
    context_window: found.flatMap((layer) => WINDOW_FIELDS.map((field) => layer[field])).find(isCount),
  };
}

/** Throws for a value of a successful answer that reports an error, whatever its shape. `is_error`: it was sent as one. */
export function throwReportedError(
  value: unknown,
  { headers, is_error = false }: { headers: Headers; is_error?: boolean },
): void {
  if (is_error || reportsError(value)) throw new ReportedError({ ...readVendorError(value), headers });
}

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;
const isText = (value: unknown): value is string => typeof value === 'string' && value.trim() !== '';
const isFilled = (value: unknown): boolean =>
  isText(value) || (Array.isArray(value) ? value.length > 0 : isObject(value) && Object.values(value).some(Boolean));

/** True if a part of an answer is an error: by its own field, or because it gives the reason in place of an answer. */
function reportsError(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0 && reportsError(value[0]);
  if (!isObject(value)) return false;
  const { error, errors, fault, base_resp, choices, object, type, error_code, code, status, success } = value;
  const [choice] = Array.isArray(choices) ? choices : [];
  if (isFilled(error) || (isObject(choice) && isFilled(choice.error))) return true;
  if (isObject(base_resp) && Number(base_resp.status_code ?? 0) !== 0) return true;
  if (choice !== undefined || isObject(value.message) || isObject(value.delta)) return false;
  if (object === 'error' || type === 'error' || isFilled(errors) || isFilled(fault) || success === false) return true;
  if (Number(error_code ?? 0) !== 0 || status === 'error' || status === 'failed') return true;
  if ([code, status].some((number) => Number(number) >= 400)) return true;
  if (Array.isArray(choices) || isObject(value.usage) || isSuccess(code) || isSuccess(error_code)) return false;
  return MESSAGE_FIELDS.some((field) => isText(value[field])) || isFilled(value.detail);
}

/** True for the codes by which vendors report success, next to a message such as `success`. */
const isSuccess = (code: unknown): boolean => (typeof code === 'number' || isText(code)) && [0, 200].includes(Number(code));

const isCount = (value: unknown): value is number => typeof value === 'number' && Number.isSafeInteger(value) && value > 0;

const WINDOW_FIELDS = ['n_ctx', 'max_model_len', 'max_context_length', 'context_length', 'context_window'];
const CODE_FIELDS = ['code', 'type', 'status', 'error_code', 'status_code', 'errorCode', '__type', 'reason'];
const MESSAGE_FIELDS = [
  'message',
  'Message',
  'error_message',
  'errorMessage',
  'error_msg',
  'errorMsg',
  'msg',
  'error_description',
  'faultstring',
  'status_msg',
];
const INNER_FIELDS = ['error', 'errors', 'fault', 'base_resp', 'response', 'detail', 'message', 'body'];
const MOST_LAYERS = 6;

/** Returns an error and the errors within it, the outermost first: proxies wrap the errors of others, also as text. */
function listLayers(value: unknown): Json[] {
  const layers: Json[] = [];
  let inner: unknown = Array.isArray(value) ? value[0] : value;
  while (isObject(inner) && layers.length < MOST_LAYERS) {
    const layer: Json = inner;
    layers.push(layer);
    const [choice] = Array.isArray(layer.choices) ? layer.choices : [];
    const parts = [...INNER_FIELDS.map((field) => layer[field]), isObject(choice) ? choice.error : undefined];
    const parsed = parts.map((part) => (isText(part) ? parseText(part) : part));
    const next = parsed
      .map((part) => (Array.isArray(part) && !isFault(part[0]) ? part[0] : part))
      .find((part) => isObject(part) && !Array.isArray(part) && isFilled(part));
    if (next === undefined)
      for (const part of parts) if (isText(part) && findMessage(layer) === null) layers.push({ message: part });
    inner = next;
  }
  return layers;
}

const isFault = (value: unknown): value is Json => isObject(value) && isText(value.msg) && 'loc' in value;

/** Returns the sentence of one layer, or the sentences of a validator, each with its field. */
function findMessage(layer: Json): string | null {
  for (const field of [...MESSAGE_FIELDS, 'detail', 'error', 'title', 'text', 'description', 'reason']) {
    const value = layer[field];
    if (Array.isArray(value) && value.length > 0) return value.map(formatFault).join('; ');
    if (isText(value) && typeof parseText(value) === 'string') return extractSentence(value);
  }
  return null;
}

function formatFault(fault: unknown): string {
  if (isText(fault)) return fault;
  const { msg, loc } = Object(fault) as Json;
  const text = isText(msg) ? msg : formatScalars(Object(fault));
  return Array.isArray(loc) ? `${loc.join('.')}: ${text}` : text;
}

/** Returns what a gateway adds about the vendor behind it. */
function findMessageBehind({ metadata }: Json): string | null {
  const raw = isObject(metadata) ? metadata.raw : null;
  return isFilled(raw) ? readVendorError(raw).message : null;
}

const formatScalars = (layer: Json): string =>
  Object.entries(layer)
    .filter(([, value]) => isText(value) || typeof value === 'number')
    .map(([field, value]) => `${field} ${value}`)
    .join(', ');

/** Returns JSON parsed, a web page or XML as its sentence, and any other text as it is. */
function parseText(text: string): unknown {
  const trimmed = text.trim();
  if (trimmed.startsWith('<')) return findXmlMessage(trimmed) ?? formatPage(trimmed);
  if (!/^[{[]/.test(trimmed) || isTooDeepText(trimmed)) return trimmed;
  return tryParse(trimmed) ?? extractSentence(trimmed);
}

const formatPage = (page: string): string => {
  const text = findPageText(page);
  return text ? `a web page (${text}), not the answer of an API` : 'a web page, not the answer of an API';
};

/** A tag ends before the next one begins, so that a page of tags that never end is read once. */
const PAGE_TITLE = /<(title|h1)[^<>]*>([^<]{1,200})<\/\1>/i;
const HEAD_CHARACTERS = 65_536;
const XML_MESSAGE = /<(message|msg|faultstring)>([^<]{1,2000})<\/\1>/i;

/** Returns the title of a web page; null if its beginning has none. */
export const findPageText = (page: string): string | null =>
  PAGE_TITLE.exec(page.slice(0, HEAD_CHARACTERS))?.[2]?.trim().replaceAll(/\s+/g, ' ') || null;

const findXmlMessage = (text: string): string | null => XML_MESSAGE.exec(text)?.[2]?.trim() || null;

/** A message within text, as JSON or as Python prints an object. */
const QUOTED_MESSAGE = /\\?(["'])(?:message|msg|detail)\\?\1\s*:\s*\\?(["'])((?:(?!\\?\2\s*[,}\]])[\s\S]){1,2000})/i;

/** The beginning of a page: the first tag, and the one after it. */
const PAGE_IN_TEXT = /<(?:!doctype html|html)\b[^<>]*>\s*</i;

/** Returns a sentence without an object or a web page that a proxy has put into it. */
function extractSentence(text: string): string {
  const page_at = text.search(PAGE_IN_TEXT);
  if (page_at >= 0) return joinReason(text.slice(0, page_at), formatPage(text.slice(page_at)));
  const at = text.search(/[{[]\s*\\?["']/);
  if (at < 0) return text;
  const end = Math.max(text.lastIndexOf('}'), text.lastIndexOf(']'));
  const inner = end > at ? tryParse(text.slice(at, end + 1)) : undefined;
  const message =
    inner === undefined
      ? QUOTED_MESSAGE.exec(text.slice(at))?.[3]?.trim()
      : listLayers(inner)
          .map(findMessage)
          .findLast((it) => it !== null);
  return message === undefined ? text : joinReason(text.slice(0, at), message);
}

function joinReason(text: string, reason: string): string {
  const before = trimSeparator(text);
  return before === '' ? reason : `${before}: ${reason}`;
}

const trimSeparator = (text: string): string =>
  text
    .trimEnd()
    .replace(/b['"]$/, '')
    .trimEnd()
    .replace(/[:–-]$/, '')
    .trim();

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Google names the pause among the details of an error. */
function findRetryDelay({ details, retry_after, retry_after_ms }: Json): number | undefined {
  const delays = (Array.isArray(details) ? details : []).map((detail) => parseSeconds((Object(detail) as Json).retryDelay));
  const own = typeof retry_after_ms === 'number' ? retry_after_ms : parseSeconds(retry_after);
  return [own, ...delays].find((delay) => delay !== undefined && delay > 0);
}

const parseSeconds = (value: unknown): number | undefined => {
  const seconds = Number(/^([\d.]+)s?$/.exec(String(value))?.[1] ?? Number.NaN);
  return Number.isFinite(seconds) ? seconds * 1_000 : undefined;
};

const DELAY =
  /(?:(?:try again|retry) (?:in|after)|please wait(?: for)?) (?=[\d.])(?:(\d+)h)?(?:(\d+)m(?!s))?(?:([\d.]+) ?(ms|s\b|s\.|sec|min|hour))?/i;
const UNITS: Record<string, number> = { ms: 1, min: 60_000, hour: 3_600_000 };

function findDelayInText(text: string): number | undefined {
  const [, hours = 0, minutes = 0, amount = 0, unit] = DELAY.exec(text) ?? [];
  const delay =
    Number(hours) * 3_600_000 + Number(minutes) * 60_000 + Number(amount) * (UNITS[unit?.toLowerCase() ?? ''] ?? 1_000);
  return delay > 0 ? delay : undefined;
}
