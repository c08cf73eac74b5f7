import type { FastifyInstance } from 'fastify';
import type { Redactor } from '../domain/redaction.ts';

/** Notes what a request opens. */
export interface RequestSecrets {
  book(): Redactor;
  within<T>(book: Redactor, work: () => T): T;
  readonly redact: Redactor;
}

/** A reply to a request that opened secrets holds none of them, whatever the target said and whichever route it was. */
export function redactReplies(http: FastifyInstance, secrets: RequestSecrets): void {
  // Not earlier: reading the body leaves the request's own context.
  http.addHook('preHandler', (_request, _reply, done) => secrets.within(secrets.book(), done));
  http.addHook('onSend', async (_request, reply, payload) => {
    const { redact } = secrets;
    if (typeof payload !== 'string' || redact.size() === 0) return payload;
    const redacted = /json/.test(String(reply.getHeader('content-type'))) ? redact.json(payload) : redact.text(payload);
    if (redacted !== payload) reply.removeHeader('content-length');
    return redacted;
  });
}

/** Lines of the log without what the request at hand has opened. */
export const redactedLog = (secrets: Pick<RequestSecrets, 'redact'>, to: { write(line: string): void }) => ({
  write: (line: string) => void to.write(secrets.redact.text(line)),
});
