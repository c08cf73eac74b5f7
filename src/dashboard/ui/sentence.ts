/** Ends a text with a full stop if it has no end. */
export const sentence = (text: string) => (/[.!?…]$/.test(text) ? text : `${text}.`);
