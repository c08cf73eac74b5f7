/**
 * Parses JSON that may have comments, trailing commas and a byte order mark, as people write configuration. Throws a SyntaxError if it is
 * still not JSON.
 */
export function parseCommentedJson(text: string): unknown {
  return JSON.parse(stripComments(text.replace(/^\uFEFF/, '')));
}

/** Replaces comments and commas before a closing bracket with blanks, so that places in error messages stay right. */
function stripComments(text: string): string {
  // A text, a comment, or a comma: what a text contains is not looked at.
  const parts = /"(?:\\[\s\S]|[^"\\])*"|\/\/[^\n\r]*|\/\*[\s\S]*?\*\//g;
  const plain = text.replace(parts, (part) => (part.startsWith('"') ? part : part.replaceAll(/[^\n\r]/g, ' ')));
  return plain.replace(/"(?:\\[\s\S]|[^"\\])*"|,(?=\s*[}\]])/g, (part) => (part === ',' ? ' ' : part));
}
