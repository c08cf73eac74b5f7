import Fastify from 'fastify';
import { expect, it } from 'vitest';
import { createRedactedLog, redactReplies } from '../../src/api/http/redact-replies.ts';
import { createSecretScope } from '../../src/main/wiring/secret-scope.ts';

it('a request that fails after it opened a secret keeps the secret out of the log and of its answer', async () => {
  const lines: string[] = [];
  const scope = createSecretScope(['canary-of-the-installation']);
  const logger = { level: 'trace', stream: createRedactedLog(scope, { write: (line) => void lines.push(line) }) };
  const http = Fastify({ logger });
  redactReplies(http, scope);
  http.get('/fails', async () => {
    scope.recordSecret('canary-that-was-opened');
    throw new Error('The target said canary-that-was-opened and canary-of-the-installation');
  });
  const reply = await http.inject('/fails');
  await http.close();
  expect(reply.body).toContain('The target said [redacted]');
  expect(lines.join('\n')).toContain('The target said [redacted] and [redacted]');
  expect(`${reply.body} ${lines}`).not.toContain('canary');
});
