import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import Fastify from 'fastify';
import { expect, it } from 'vitest';
import { createClosingSignal } from '../../../src/api/http/closing.ts';

it('a server that stops closes connections on which nothing was sent, and finishes the request in progress', async () => {
  const http = Fastify({ logger: false, forceCloseConnections: 'idle' });
  const closing = createClosingSignal(http);
  const [begun, ends] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  http.get('/', async () => {
    begun.resolve();
    await ends.promise;
    return 'Done.';
  });
  await http.listen({ port: 0, host: '127.0.0.1' });
  const { port } = http.server.address() as AddressInfo;
  const answer = fetch(`http://127.0.0.1:${port}/`).then((response) => response.text());
  // Browsers and HTTP clients open connections ahead.
  const unused = connect(port, '127.0.0.1');
  await Promise.all([begun.promise, once(unused, 'connect')]);
  const closed = http.close();
  await once(unused, 'close');
  expect(closing.aborted).toBe(true);
  ends.resolve();
  expect(await answer).toBe('Done.');
  await closed;
});
