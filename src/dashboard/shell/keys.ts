/** The keys in Mantine's spelling; `mod` is Ctrl, or ⌘ on a Mac. */
export const PALETTE_KEYS = 'mod + K';
export const SHORTCUTS_KEYS = 'mod + /';

const KEYS_OF_A_MAC: Record<string, string> = { Ctrl: '⌘' };
const isMac = () => /Mac|iPhone|iPad/.test(navigator.userAgent);

/** Returns the name of a key on the reader's keyboard. */
export const formatKey = (key: string): string => (isMac() ? (KEYS_OF_A_MAC[key] ?? key) : key);
