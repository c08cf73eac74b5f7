import type { FastifyInstance } from 'fastify';
import type { Redactor } from '../../domain/redaction.ts';

/** Records the secrets that a request opens. */
export interface RequestSecrets {
  openRedactor(): Redactor;
  runInScope<T>(scope: Redactor, work: () => T): T;
  readonly redact: Redactor;
}

/** Redacts, from the reply of every route, the secrets that its request opened, even if the target returned them. */
export function redactReplies(http: FastifyInstance, secrets: RequestSecrets): void {
  // An earlier hook does not work: reading the body leaves the request's async context.
  http.addHook('preHandler', (_request, _reply, done) => secrets.runInScope(secrets.openRedactor(), done));
  http.addHook('onSend', async (_request, reply, payload) => {
    const { redact } = secrets;
    if (typeof payload !== 'string' || redact.size() === 0) return payload;
    const redacted = /json/.test(String(reply.getHeader('content-type'))) ? redact.json(payload) : redact.text(payload);
    if (redacted !== payload) reply.removeHeader('content-length');
    return redacted;
  });
}

/** Returns a log destination that redacts the secrets that the current request opened. */
export const createRedactedLog = (secrets: Pick<RequestSecrets, 'redact'>, to: { write(line: string): void }) => ({
  write: (line: string) => void to.write(secrets.redact.text(line)),
});
