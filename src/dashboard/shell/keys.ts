/** The keys in Mantine's spelling; `mod` is Ctrl, or ⌘ on a Mac. */
export const PALETTE_KEYS = 'mod + K';
export const SHORTCUTS_KEYS = 'mod + /';
