import { useHotkeys } from '@mantine/hooks';
import { APPROVE_KEY, DENY_KEY } from '../shell/keys.ts';

/** Marks the buttons that the keys lead to. */
export const DECIDES = { approve: { 'data-decides': 'approve' }, deny: { 'data-decides': 'deny' } } as const;

/**
 * The keys of a decision give the focus to its button, and pressed again to that of the next decision. Enter then decides: a
 * single letter must not send money.
 */
export function useDecisionKeys(): void {
  useHotkeys([
    [APPROVE_KEY, () => focusNext('approve')],
    [DENY_KEY, () => focusNext('deny')],
  ]);
}

function focusNext(kind: keyof typeof DECIDES): void {
  if (document.querySelector('[role="dialog"]')) return;
  const buttons = [...document.querySelectorAll<HTMLElement>(`[data-decides="${kind}"]:not(:disabled)`)];
  const at = buttons.indexOf(document.activeElement as HTMLElement);
  buttons[(at + 1) % buttons.length]?.focus();
}
