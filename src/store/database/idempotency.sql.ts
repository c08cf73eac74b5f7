/**
 * Returns the condition that :claim is the last one of the request whose record has this id, or that the request has no key. The key
 * stays locked until the transaction ends, so the next claim either waits for what is written, or prevents it.
 */
export const isLastClaim = (id: string) =>
  `(:claim::int IS NULL OR EXISTS (SELECT 1 FROM idempotency_keys WHERE reserved_id = ${id} AND claims = :claim FOR SHARE))`;
