import { once } from 'node:events';
import { createServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { lazyConnection } from '../../src/temporal/client/client-connection.ts';

const UNIMPLEMENTED = 12;
const UNAVAILABLE = 14;

/** Does not have the call that opens a connection, as engines of long ago, and cannot serve any other. */
const server = createServer().on('stream', (stream: ServerHttp2Stream, headers) => {
  const code = headers[':path']?.endsWith('/GetSystemInfo') ? UNIMPLEMENTED : UNAVAILABLE;
  stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': String(code) }, { endStream: true });
  asked.push(headers[':path']!);
});
const asked: string[] = [];
afterEach(() => void server.close());

it('a call that is being repeated when its connection is closed fails as cancelled, and the process lives on', async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const connection = lazyConnection({ address: `127.0.0.1:${(server.address() as AddressInfo).port}` });
  const call = connection.workflowService.describeNamespace({ namespace: 'default' });
  await expect.poll(() => asked.some((path) => path.endsWith('/DescribeNamespace'))).toBe(true);
  await connection.close();
  await expect(call).rejects.toMatchObject({ code: 1, details: 'Channel has been shut down' });
});
