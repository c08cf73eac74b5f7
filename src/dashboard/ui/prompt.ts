/** Returns the beginning of a prompt, for a list. */
export const shortenPrompt = (prompt: string, most: number): string => prompt.slice(0, most) || '(empty)';
