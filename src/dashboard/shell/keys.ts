/** The keys in Mantine's spelling; `mod` is Ctrl, or ⌘ on a Mac. */
export const PALETTE_KEYS = 'mod + K';
export const SHORTCUTS_KEYS = 'mod + /';

/** The keys on the page of a run. They only move the focus or open another run, so a letter that is typed by mistake does no harm. */
export const APPROVE_KEY = 'A';
export const DENY_KEY = 'D';
export const NEXT_WAITING_KEY = 'J';
export const PREVIOUS_WAITING_KEY = 'K';

const KEYS_OF_A_MAC: Record<string, string> = { Ctrl: '⌘' };
const isMac = () => /Mac|iPhone|iPad/.test(navigator.userAgent);

/** Returns the name of a key on the reader's keyboard. */
export const formatKey = (key: string): string => (isMac() ? (KEYS_OF_A_MAC[key] ?? key) : key);
