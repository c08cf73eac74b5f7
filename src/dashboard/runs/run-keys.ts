/** The keys on the page of a run. They only move the focus or open another run, so a letter that is typed by mistake does no harm. */
export const APPROVE_KEY = 'A';
export const DENY_KEY = 'D';
export const NEXT_WAITING_KEY = 'J';
export const PREVIOUS_WAITING_KEY = 'K';
