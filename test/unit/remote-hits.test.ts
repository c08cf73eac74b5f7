import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, it } from 'vitest';
import { textWithReason } from '../../src/domain/reason.ts';
import { searchRemote } from '../../src/knowledge/remote.ts';
import { changedAt, codeIn, ODD_VALUES, placesIn } from '../support/contract/odd-values.ts';

const POINTS = {
  result: {
    points: [
      { id: 1, score: 0.9, payload: { text: 'Second class.', name: 'policy' } },
      { id: 2, score: 0.8, payload: { text: 'By train.' } },
    ],
  },
};
const source = { source_type: 'vector_db', connection_config: { url: 'https://vectors.test', collection: 'policies' } };
const search = (answer: object) =>
  searchRemote(source, [1, 0], {
    limit: 5,
    ports: { fetch: async () => Response.json(answer), resolveAddress: () => Promise.reject(new Error('not asked for')) },
  });

it.each<[string, object, () => Response, string]>([
  ['has no collection', { collection: undefined }, () => Response.json(POINTS), 'connection_config.collection is missing'],
  ['has a number for one', { collection: 7 }, () => Response.json(POINTS), 'connection_config.collection is missing'],
  ['does not answer well', {}, () => new Response('', { status: 503 }), 'The vector database answered 503'],
])('a vector database that %s cannot be searched', async (_, config, answer, reason) => {
  const broken = { ...source, connection_config: { ...source.connection_config, ...config } };
  const ports = { fetch: async () => answer(), resolveAddress: () => Promise.reject(new Error('not asked for')) };
  await expect(searchRemote(broken, [1, 0], { limit: 5, ports })).rejects.toThrow(reason);
});

const isHit = ({ content, name, score }: { content: unknown; name: unknown; score: unknown }) =>
  typeof content === 'string' && (name === null || typeof name === 'string') && Number.isFinite(score);

it('the points of a vector database are passages', async () => {
  expect(await search(POINTS)).toEqual([
    { content: 'Second class.', name: 'policy', score: 0.9 },
    { content: 'By train.', name: null, score: 0.8 },
  ]);
});

it.each(placesIn(POINTS).map((path) => [path.join('.'), path] as const))(
  'points with anything at %s are passages or a refusal',
  async (_, path) => {
    const faults: unknown[] = [];
    for (const [, value] of ODD_VALUES) {
      // A refusal in words becomes a warning of the search.
      const hits = await search(changedAt(POINTS, path, value)).catch((error: Error) => {
        faults.push(...[codeIn(textWithReason(error))].filter((code) => code !== null));
        return [];
      });
      faults.push(...hits.filter((hit) => !isHit(hit)));
    }
    expect(faults).toEqual([]);
  },
);

it.each([
  ['db.test', true],
  ['127.0.0.1', false],
])('a Postgres with TLS at %s is asked for by its name, if that is one', async (host, is_named) => {
  const hello = Promise.withResolvers<Buffer>();
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write('S');
      socket.once('data', (bytes) => {
        hello.resolve(bytes as Buffer);
        socket.destroy();
      });
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `postgres://u:p@${host}:${(server.address() as AddressInfo).port}/d?sslmode=require`;
  const ports = { fetch: () => Promise.reject(new Error('not asked for')), resolveAddress: async () => '127.0.0.1' };
  const searching = searchRemote({ source_type: 'pgvector', connection_config: { url, table: 't' } }, [1, 0], {
    limit: 1,
    ports,
  });
  await expect(searching).rejects.toThrow();
  expect((await hello.promise).includes(host)).toBe(is_named);
  server.close();
});
