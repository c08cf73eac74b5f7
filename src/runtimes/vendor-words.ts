import type { VendorError } from './vendor-errors.ts';

/** Vendors' names for an account without quota, credit or payment. */
const QUOTA_NAMES =
  /insufficient_?(?:user_?)?(?:quota|balance|credits?|funds?)|billing|credits?_?(?:exhausted|exceeded)|exceeded_current_quota|arrearage|overdue|payment_required|budget_exceeded|spend(?:ing)?_limit|allocationquota|free_?tier_?only|quota_exhausted/;

const QUOTA_SENTENCES =
  /insufficient[ _](?:quota|balance|credits?|funds?)|exceeded your current quota|check your (?:plan and )?billing|billing (?:hard limit|is not|not active)|credit balance|(?:out of|no|not enough|run out of|requires? more) (?:credits?|funds)|(?:quota|credits?|balance)[^.]{0,30}(?:exhausted|used up|depleted|insufficient)|spend(?:ing)? limit|budget has been exceeded|(?:exceeded|crossed|over)(?: [\w.]{1,20})? ?budget|余额不足|欠费/i;

const QUOTA_STATUSES = [400, 402, 403, 429, undefined];

/**
 * True if an account's quota or credit is used up, so that waiting does not help. Google reports both kinds of limits in one
 * sentence; it names a pause for those that pass.
 */
export function isExhaustedQuota({ names, message, retry_after_ms }: VendorError, status: number | undefined): boolean {
  if (names.some((name) => QUOTA_NAMES.test(name))) return true;
  if (status === 402) return true;
  return QUOTA_STATUSES.includes(status) && retry_after_ms === undefined && QUOTA_SENTENCES.test(message);
}

const LOADING =
  /load(?:ing)? (?:the )?model|model\b[^.]{0,80}\b(?:is|are|still|being|currently)\b[^.]{0,20}\bload(?:ing|ed)|loading model|warming up|cold start|model is starting|not ready yet|model[^.]{0,40}not (?:yet )?ready/i;

/** True if a model server is still loading its model. */
export const isLoading = ({ message }: VendorError, status: number | undefined): boolean =>
  (status === 503 || status === 425 || status === undefined) && LOADING.test(message);

/** True if a request is longer than the model's context window. */
export const isOverlong = ({ names, message }: VendorError): boolean =>
  names.includes('context_length_exceeded') || message.includes('prompt is too long');
