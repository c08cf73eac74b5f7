import { type CapSpent, explainSpent, explainWarning } from './caps.ts';
import { AppError } from './errors.ts';

/** A budget that applies to a new run. */
export interface CapState extends CapSpent {
  on_exhausted: 'wait' | 'refuse';
  /** The shares from which it warns. */
  warn_at: number[];
  /** True if a run of the present period waits because what is left is too little for it. */
  is_short: boolean;
}

/** The code of the refusal of a prompt, because a budget is used up. */
export const BUDGET_SPENT = 'budget_spent';

const isUsedUp = ({ spent, limit, is_short }: CapState) => spent >= limit || is_short;

/** Throws 429 if a budget that refuses prompts is used up; with `is_awaited`, because somebody waits for the answer, if any is. */
export function refuseIfSpent(caps: readonly CapState[], now: Date, is_awaited = false): void {
  const cap = caps.find((one) => (is_awaited || one.on_exhausted === 'refuse') && isUsedUp(one));
  if (!cap) return;
  const retry_after_s = Math.max(1, Math.ceil((Date.parse(cap.ends_at) - now.getTime()) / 1_000));
  throw new AppError('too_many', explainSpent(cap), { code: BUDGET_SPENT, retry_after_s });
}

/** Returns what a prompt's sender should know about the budgets that its run is charged to, as sentences. */
export const listCapWarnings = (caps: readonly CapState[]): string[] =>
  caps.flatMap((cap) => {
    if (isUsedUp(cap)) return [`${explainSpent(cap)}. The run waits until then, or until the budget is raised`];
    const is_near = cap.warn_at.some((share) => cap.spent / cap.limit >= share);
    return is_near ? [explainWarning(cap)] : [];
  });
