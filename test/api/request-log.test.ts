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

it('an answer is without the secrets that its request opened, in JSON and in text, and without those of another request', async () => {
  const scope = createSecretScope([]);
  const http = Fastify();
  redactReplies(http, scope);
  http.get('/json', async (_, reply) => {
    scope.recordSecret('canary "quoted"');
    return reply.type('application/json').send(JSON.stringify({ said: 'It is canary "quoted".', other: 'kept' }));
  });
  http.get('/text', async (_, reply) => {
    scope.recordSecret('canary-of-text');
    const body = 'It is canary-of-text.';
    return reply.type('text/plain').header('content-length', body.length).send(body);
  });
  http.get('/other', async (_, reply) => reply.type('text/plain').send('canary-of-text'));
  expect((await http.inject('/json')).json()).toEqual({ said: 'It is [redacted].', other: 'kept' });
  const text = await http.inject('/text');
  expect([text.body, text.headers['content-length']]).toEqual(['It is [redacted].', String('It is [redacted].'.length)]);
  // Only what a request opens is redacted in its answer.
  expect((await http.inject('/other')).body).toBe('canary-of-text');
  await http.close();
});
