import type { VendorError } from './vendor-errors.ts';

/** Vendors' names for an account without quota, credit or payment. */
const QUOTA_NAMES =
  /insufficient_?(?:user_?)?(?:quota|balance|credits?|funds?)|billing|credits?_?(?:exhausted|exceeded)|exceeded_current_quota|arrearage|overdue|payment_required|budget_exceeded|spend(?:ing)?_limit|allocationquota|free_?tier_?only|quota_exhausted/;

const QUOTA_SENTENCES =
  /insufficient[ _](?:quota|balance|credits?|funds?)|exceeded your current quota|check your (?:plan and )?billing|billing (?:hard limit|is not|not active)|credit balance|(?:out of|no|not enough|run out of|requires? more) (?:credits?|funds)|(?:quota|credits?|balance)[^.]{0,30}(?:exhausted|used up|depleted|insufficient)|spend(?:ing)? limit|budget has been exceeded|(?:exceeded|crossed|over)(?: [\w.]{1,20})? ?budget|余额不足|欠费/i;

const QUOTA_STATUSES = [400, 402, 403, 412, 429, undefined];

/**
 * True if an account's quota or credit is used up, so that waiting does not help. Google reports both kinds of limits in one
 * sentence; it names a pause for those that pass.
 */
export function isExhaustedQuota({ names, message, retry_after_ms }: VendorError, status: number | undefined): boolean {
  if (names.some((name) => QUOTA_NAMES.test(name))) return true;
  if (status === 402) return true;
  return QUOTA_STATUSES.includes(status) && retry_after_ms === undefined && QUOTA_SENTENCES.test(message);
}

const FILTER_NAMES = /content_?(?:filter|policy)|responsibleaipolicy|data_?inspection_?failed|content_moderation|prompt_blocked/;
const FILTER_SENTENCES =
  /content (?:filter|management policy|polic(?:y|ies)\b)|content exists risk|inappropriate content|(?:input|prompt|request) (?:was|has been) flagged|requires moderation|敏感内容/i;

/** True if a filter of the vendor refused the prompt or the answer. Some report it with the status of a refused key. */
export const isFiltered = ({ names, message }: VendorError, status: number | undefined): boolean =>
  [400, 403, 422, undefined].includes(status) &&
  (names.some((name) => FILTER_NAMES.test(name)) || FILTER_SENTENCES.test(message));

/** True if the model wrote a call, or JSON, that its endpoint cannot read: another attempt may succeed. */
export const isUnreadable = ({ names }: VendorError): boolean =>
  names.some((name) => /^(?:tool_use_failed|json_validate_failed|malformed_function_call|tool_call_parse_error)$/.test(name));

const THROTTLED = /throttl|^rate_?limit|too_?many_?requests/;

/** True for a limit that passes, which some vendors report with the status of a bad request. */
export const isThrottled = ({ names }: VendorError, status: number | undefined): boolean =>
  status === 400 && names.some((name) => THROTTLED.test(name));

const KEY_SENTENCES =
  /(?:incorrect|invalid) api[ _-]?key|api[ _-]?key (?:is )?(?:not valid|invalid|expired)|api[ _-]?key not found/i;

/** True for a refused key that is reported as a bad request. */
export const isRefusedKey = ({ message }: VendorError, status: number | undefined): boolean =>
  status === 400 && KEY_SENTENCES.test(message);

const MODEL_NAMES =
  /^(?:model_?not_?(?:found|exists?)|invalid_model|unknown_model|model_(?:decommissioned|deprecated|retired|discontinued))$/;
const MODEL_SENTENCES =
  /^model not exist|is not a valid model\b|^invalid model\b|model identifier is invalid|\bmodel\b[^.]{0,100}\bhas been (?:decommissioned|deprecated|retired|discontinued)/i;

/** True for a model that the endpoint does not know, or no longer, reported as a bad request. */
export const isUnknownModel = ({ names, message }: VendorError, status: number | undefined): boolean =>
  [400, 410, 422].includes(status ?? 0) && (names.some((name) => MODEL_NAMES.test(name)) || MODEL_SENTENCES.test(message));

const LOADING =
  /load(?:ing)? (?:the )?model|model\b[^.]{0,80}\b(?:is|are|still|being|currently)\b[^.]{0,20}\bload(?:ing|ed)|loading model|warming up|cold start|model is starting|not ready yet|model[^.]{0,40}not (?:yet )?ready/i;

/** True if a model server is still loading its model. */
export const isLoading = ({ message }: VendorError, status: number | undefined): boolean =>
  (status === 503 || status === 425 || status === undefined) && LOADING.test(message);

/** Vendors' names for a request that is longer than the model's context window. */
const OVERLONG_NAMES =
  /context_?(?:length|window|size)_?exceeded|contextwindowexceeded|exceed(?:ed)?_?context|context_overflow|max_prompt_tokens_exceeded|tokens_limit_reached|prompt_too_long|input_too_long|string_above_max_context/;

const OVERLONG_SENTENCES = [
  /(?:maximum|max|available|model'?s?|exceeds? the|exceeded|overflows?|over the) (?:model )?(?:context|prompt|sequence|model)[ _-]?(?:length|window|size|len)\b/i,
  /context (?:length|window|size|limit)[^.]{0,30}(?:exceed|overflow|is only|of only|too small|reached)|(?:exceed|overflow)[^.]{0,40}context|(?:exceeds?|greater than)[^.]{0,20}\bmax_(?:model|seq)_len\b|reached (?:the )?context (?:length|window|size)|contextwindowexceeded/i,
  /(?:prompt|input|request (?:is|was)|conversation|history)[^.]{0,60}(?:too long|longer than the (?:model|maximum|max|context))/i,
  /(?:number of (?:input )?tokens|(?:prompt|input) ?(?:token|length)[^.]{0,60})[^.]{0,20}\b(?:exceeds?|cannot exceed|is larger|surpasses)|(?:prompt|input|requested)[ _](?:token|length)[^.]{0,60}(?:exceeds?|only supports|is larger)/i,
  /too many (?:input |prompt )?tokens\b|request body too large for|inputs?`? (?:tokens \+|must have less)|exceeded model token limit|token length exceeds? (?:the )?model limit|input tokens exceeded|range of input length/i,
  /too large for model with \d|larger than the model input length|exceeds? (?:the )?max(?:imum)? (?:number of )?(?:allowed )?(?:input |prompt |message )?(?:tokens|length)|max input characters|prompt exceeds max|reduce the length of the (?:messages|input|prompt)|n_keep|larger than the max context/i,
  /上下文.{0,20}(?:超|长)|(?:输入|提示|prompt).{0,20}(?:超过|超出|超长|过长)/i,
];

/** What passes with time, or is about the answer alone, although it counts tokens. */
const OTHER_LIMITS = /per[ -](?:minute|day|hour|second)|\b(?:TPM|TPD|ITPM|RPM)\b|rate limit|quota|throttl|wait before/i;

/** The statuses of refusals that have other reasons, whatever their sentence. */
const OTHER_STATUSES = [401, 402, 403, 404, 429];
/** The status of a request that has too many bytes, whatever the sentence. */
const TOO_LARGE = 413;

/** True if a request is longer than the model's context window. */
export const isOverlong = ({ names, message }: VendorError, status?: number): boolean =>
  names.some((name) => OVERLONG_NAMES.test(name)) ||
  (!OTHER_STATUSES.includes(status ?? 0) &&
    !OTHER_LIMITS.test(message) &&
    (status === TOO_LARGE || OVERLONG_SENTENCES.some((sentence) => sentence.test(message))));

/** A size, also in thousands or millions: "8192", "8,192", "256K". */
const SIZE = String.raw`(\d[\d,_]{0,14}(?:\.\d{1,3})?\s?[km]\b|\d[\d,_]{1,14}(?:\.\d{1,3})?)(?!\w|\.\d|\s?[kmg]i?b\b)`;
/** What stands between a name and its size. "by 1200 tokens" is how much too long a request is. */
const GAP = String.raw`(?:(?!\bby\b)[^\d.])`;

const writeSizes = (places: string[]): RegExp[] =>
  places.map((place) => new RegExp(place.replace('SIZE', SIZE).replace('GAP', GAP), 'i'));

/** The places of the size in a sentence, the surest first. */
const SIZES = writeSizes([
  String.raw`range of input length should be \[\d{1,9}, ?SIZE\]`,
  String.raw`\b(?:max_model_len|max_seq_len|n_ctx)\bGAP{0,10}SIZE`,
  String.raw`context limit: [\d,]{1,15} \+ [\d,]{1,15} > SIZE`,
  String.raw`(?:context|max(?:imum)? (?:prompt|input|sequence|model)) ?(?:length|window|size|limit)\bGAP{0,40}SIZE`,
  String.raw`\bSIZE(?:[ -]tokens?)? (?:max(?:imum)?\b|(?:context|token) (?:length|window|limit))`,
  '(?:maximum number of tokens allowed|maximum (?:allowed )?length|supports up to|cannot exceed|must be <=|must have less than|max input tokens:|input length limit|limit (?:for this model )?(?:is|of)|token limit:|max size:)GAP{0,30}SIZE',
]);

const SMALLEST_WINDOW = 256;
const LARGEST_WINDOW = 100_000_000;

/** True for a number of tokens that a context window can have. */
export const isWindow = (size: unknown): size is number =>
  Number.isSafeInteger(size) && Number(size) >= SMALLEST_WINDOW && Number(size) <= LARGEST_WINDOW;

/** Returns the size of the context window that a refusal names, in tokens. */
export function findNamedWindow({ message, context_window }: VendorError): number | undefined {
  if (isWindow(context_window)) return context_window;
  const written = SIZES.map((place) => place.exec(message)?.[1]).find((text) => text !== undefined);
  const size = parseSize(written ?? '');
  return isWindow(size) ? size : undefined;
}

/** Vendors mean 1,000 or 1,024 by a K: the smaller is safe. */
const FACTORS: Record<string, number> = { k: 1_000, m: 1_000_000 };

function parseSize(written: string): number {
  const number = Number(written.replaceAll(/[^\d.]/g, '') || Number.NaN);
  const factor = FACTORS[written.at(-1)?.toLowerCase() ?? ''];
  return factor === undefined ? number : Math.round(number * factor);
}
