export function innermost(error: unknown): unknown {
  let inner = error;
  while (inner instanceof Error && inner.cause) inner = inner.cause;
  return inner;
}

/** What the innermost cause says: it names the host or the port, where the outer ones only say `fetch failed`. */
export function reasonOf(error: unknown): string {
  const { message, code } = (innermost(error) ?? {}) as { message?: string; code?: string };
  return message || code || 'no connection';
}

/** What an error says, and its reason where it keeps that for itself. */
export function textWithReason(error: Error): string {
  const reason = reasonOf(error);
  return error.message.includes(reason) ? error.message : `${error.message}: ${reason}`;
}
