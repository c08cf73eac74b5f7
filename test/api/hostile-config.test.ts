import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { searchRemote } from '../../src/knowledge/remote.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';

let here: TestInstallation;
let dir: string;
beforeAll(async () => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'perdura-config-')));
  for (const name of ['home', 'data', 'out']) mkdirSync(join(dir, name));
  const env = { PERDURA_HOME: join(dir, 'home'), ALLOW_STDIO_MCP: 'true', MCP_PATHS: `${dir}/data,${dir}/out:rw` };
  here = await startTestInstallation({ env, worker: false });
});
afterAll(async () => {
  await here?.stop();
  rmSync(dir, { recursive: true, force: true });
});

const CANARY = 'canary-in-the-url';
const BAD_POSTGRES = [
  'postgres://u:CANARY@db.example/x?host=/var/run/postgresql',
  'postgres://u:CANARY@db.example/x?host=169.254.169.254',
  'postgres://u:CANARY@db.example/x?sslmode=require&sslcert=/etc/passwd',
  'postgres://u:CANARY@db.example/x?sslrootcert=/etc/passwd',
  'postgres://u:CANARY@db.example/x?service=other',
  'postgres://u:CANARY@db.example/x?options=-c%20search_path%3Dx',
  'postgres://u:CANARY@db.example/x?made_up=1',
  'postgres://u:CANARY@db.example/x?sslmode=require&sslmode=disable',
  'postgres://u:CANARY@db.example/x?sslmode=sometimes',
  'postgres://u:CANARY@%2Fvar%2Frun%2Fpostgresql/x',
  'postgres://u:CANARY@one.example,two.example/x',
  'postgres://u:CANARY@one.example:5432,two.example:5432/x',
  'postgres:///x?host=/tmp',
  'postgres://u:CANARY@/x',
  'postgres://db.example/x',
  'postgres://u%00database%00other:CANARY@db.example/x',
  'postgres://u:CANARY@db.example/x%00options%00-c',
  'postgres://u:CANARY@db.example/x/y',
  'postgres://u:CANARY@db.example:0/x',
  'postgres://u:CANARY@db.example/x#frag',
  'socket:/var/run/postgresql?db=x',
  '/var/run/postgresql x',
  'host=/var/run/postgresql user=u',
  'http://u:CANARY@db.example/x',
].map((url) => url.replace('CANARY', CANARY));
const BAD_QDRANT = [
  'file:///etc/passwd',
  'http://u:p@vectors.example',
  'http://vectors.example/?x=1',
  'http://vectors.example/#x',
  'x',
];

describe('the address of a knowledge source elsewhere', () => {
  const save = (source_type: string, url: string, more: object = {}) =>
    here.alice.post('/api/knowledge-sources', { name: `source ${++made}`, source_type, connection_config: { url, ...more } });

  it.each([...BAD_POSTGRES.map((url) => ['pgvector', url] as const), ...BAD_QDRANT.map((url) => ['vector_db', url] as const)])(
    'is refused when it is saved, changed and imported: %s %s',
    async (source_type, url) => {
      const { id } = await here.alice.ok(save('builtin', url));
      const bundle = { items: [{ name: `source ${++made}`, source_type, connection_config: { url } }] };
      const imported = await here.alice.ok(here.alice.post('/api/knowledge-sources/import', bundle));
      expect(imported).toMatchObject({ created: 0, errors: [expect.stringContaining('connection_config.url: ')] });
      for (const refused of [
        await save(source_type, url),
        await here.alice.put(`/api/knowledge-sources/${id}`, { source_type, connection_config: { url } }),
      ]) {
        expect([refused.status, refused.body.errors?.[0].path]).toEqual([422, 'connection_config.url']);
        expect(JSON.stringify([refused.body, imported])).not.toContain(CANARY);
      }
    },
  );

  it.each(BAD_POSTGRES)('is refused when it is used: %s', async (url) => {
    const search = searchRemote({ source_type: 'pgvector', connection_config: { url, table: 't' } }, [1], {
      limit: 1,
      ports: { fetch, resolveAddress: async () => Promise.reject(new Error('it was dialled')) },
    });
    await expect(search).rejects.toThrow('connection_config.url: ');
  });

  it.each([
    ['pgvector', 'postgres://u:p%40ss@db.example:5433/x?sslmode=require'],
    ['pgvector', 'postgresql://u@[2001:db8::1]/x'],
    ['pgvector', 'postgres://{{token:pg-user}}:{{token:pg-word}}@db.example/x'],
    ['pgvector', '{{token:pg-user}}'],
    ['vector_db', 'https://vectors.example:6333/base/'],
  ])('is saved when it is an ordinary one: %s %s', async (source_type, url) => {
    for (const name of ['pg-user', 'pg-word']) await here.alice.post('/api/tokens', { name, value: 'value-of-it' });
    expect((await save(source_type, url)).body).toMatchObject({ source_type });
  });

  it('reaches a real Postgres by the values in it, and its socket never', async () => {
    const { username, password, hostname, port, pathname } = new URL(here.setting.database_url);
    const dialled: [string, number][] = [];
    const ports = {
      fetch,
      async resolveAddress(host: string, at: number) {
        dialled.push([host, at]);
        return hostname;
      },
    };
    const search = (url: string) =>
      searchRemote({ source_type: 'pgvector', connection_config: { url, table: 'no_such_table' } }, [1], { limit: 1, ports });
    const good = `postgres://${username}:${password}@database.example:${port}${pathname}`;
    // It is connected and signed in: what is missing is the table.
    await expect(search(good)).rejects.toThrow('no_such_table');
    expect(dialled).toEqual([['database.example', Number(port)]]);
    const [{ unix_socket_directories: sockets }] = (await here.core.database.pool.query('SHOW unix_socket_directories')).rows;
    await expect(search(`${good}?host=${sockets || '/tmp'}`)).rejects.toThrow('The parameter host is not supported');
    expect(dialled).toHaveLength(1);
  });

  it("takes no password from the service's environment", async () => {
    const { username, password, hostname, port, pathname } = new URL(here.setting.database_url);
    const url = `postgres://${username}@database.example:${port}${pathname}`;
    const before = process.env.PGPASSWORD;
    process.env.PGPASSWORD = password;
    try {
      const ports = { fetch, resolveAddress: async () => hostname };
      const searched = searchRemote({ source_type: 'pgvector', connection_config: { url, table: 't' } }, [1], {
        limit: 1,
        ports,
      });
      await expect(searched).rejects.toThrow(/password/);
    } finally {
      if (before === undefined) delete process.env.PGPASSWORD;
      else process.env.PGPASSWORD = before;
    }
  });

  it.each(['require', 'prefer', 'verify-ca', 'verify-full'])(
    'sends no password to a server whose certificate nobody vouches for: sslmode=%s',
    async (mode) => {
      const server = await startImpostor();
      const url = `postgres://u:${CANARY}@database.example:${server.port}/x?sslmode=${mode}`;
      const ports = { fetch, resolveAddress: async () => '127.0.0.1' };
      const source = { source_type: 'pgvector', connection_config: { url, table: 't' } };
      try {
        await expect(searchRemote(source, [1], { limit: 1, ports })).rejects.toThrow(/certificate/);
        expect(server.heard()).toBe('');
      } finally {
        server.stop();
      }
    },
  );

  it.each([301, 302, 303, 307, 308])(
    'of Qdrant is not left for another one with a %i: it would answer instead',
    async (status) => {
      const keys: unknown[] = [];
      const server = createServer((request, response) => {
        keys.push(request.headers['api-key']);
        response.writeHead(status, { location: `http://localhost:${(server.address() as AddressInfo).port}/elsewhere` }).end();
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const connection_config = { url, collection: 'c', api_key: CANARY };
      const ports = { fetch: here.core.egress.configuration.fetch, resolveAddress: async () => hostOf(url) };
      await expect(searchRemote({ source_type: 'vector_db', connection_config }, [1], { limit: 1, ports })).rejects.toThrow();
      expect(keys).toEqual([CANARY]);
      server.close();
    },
  );
});
const hostOf = (url: string) => new URL(url).hostname;

/** Agrees to TLS as Postgres does, with a self-signed certificate, and asks for the password in clear. */
async function startImpostor() {
  const [key, cert] = [join(dir, 'impostor.key'), join(dir, 'impostor.pem')];
  const subject = ['-subj', '/CN=database.example', '-addext', 'subjectAltName=DNS:database.example'];
  const made = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'];
  execFileSync('openssl', ['req', ...made, '-keyout', key, '-out', cert, ...subject], { stdio: 'pipe' });
  let heard = '';
  const server = createTcpServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write('S');
      const secure = new TLSSocket(socket, { isServer: true, key: readFileSync(key), cert: readFileSync(cert) });
      secure.on('error', () => {});
      secure.on('data', (part) => {
        if (heard === '') secure.write(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]));
        else secure.destroy();
        heard += part.toString('latin1');
      });
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, heard: () => heard, stop: () => void server.close() };
}

let made = 0;
const stdio = (paths: string[]) => ({
  name: `server ${++made}`,
  transport_type: 'stdio',
  connection_config: { command: '/bin/true' },
  paths,
});

describe('paths of an MCP server', () => {
  it('are saved when the operator allows them', async () => {
    const { paths } = await here.alice.ok(here.alice.post('/api/mcps', stdio([`${dir}/data`, `${dir}/out:rw`])));
    expect(paths).toEqual([`${dir}/data`, `${dir}/out:rw`]);
  });

  it.each(['/etc:rw', '/etc', '/../..', '/', '/proc', '/run/docker.sock', 'relative', '/root/.ssh'])(
    'are refused otherwise, and what is allowed is named: %s',
    async (path) => {
      const { id } = await here.alice.ok(here.alice.post('/api/mcps', stdio([])));
      const refused = [
        await here.alice.post('/api/mcps', stdio([`${dir}/data`, path])),
        await here.alice.put(`/api/mcps/${id}`, { paths: [`${dir}/data`, path] }),
      ];
      for (const { status, body } of refused) {
        expect(status).toBe(422);
        expect(body.errors).toEqual([
          { path: 'paths.1', message: expect.stringContaining(`MCP_PATHS allows ${dir}/data (read)`) },
        ]);
      }
      expect((await here.alice.ok(here.alice.get(`/api/mcps/${id}`))).paths).toEqual([]);
    },
  );

  it("are refused below Perdura's home", async () => {
    const { status, body } = await here.alice.post('/api/mcps', stdio([`${dir}/home/workspaces`]));
    expect([status, body.errors[0].message]).toEqual([422, expect.stringContaining(`lies in ${dir}/home`)]);
  });

  it('that were saved before and are allowed no more keep the server from starting, with the reason', async () => {
    const { id } = await here.alice.ok(here.alice.post('/api/mcps', stdio([])));
    await here.core.database.pool.query('UPDATE mcp_servers SET paths = $1 WHERE id = $2', [['/etc:rw'], id]);
    const answer = await here.alice.ok(here.alice.post(`/api/mcps/${id}/test`));
    expect(answer).toMatchObject({ success: false, error: expect.stringContaining('The path /etc:rw cannot be given') });
  });
});
