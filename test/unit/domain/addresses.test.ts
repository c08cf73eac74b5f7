import { describe, expect, it } from 'vitest';
import { HOLDER_NOUNS, SECRET_HOLDERS, tokenReferences } from '../../../src/domain/destinations.ts';
import { hostRule, originRule } from '../../../src/domain/hosts.ts';
import { postgresPlace, qdrantBase, remoteAddressRefusal } from '../../../src/domain/remote-address.ts';

const SHAPE = 'postgres://user:password@host:5432/database?sslmode=require';
const thrown = (work: () => unknown) => {
  try {
    return work();
  } catch (error) {
    return (error as Error).message;
  }
};

describe('the URL of a Postgres server', () => {
  const place = { host: 'db.example', port: 5432, user: 'me', password: 'pw', database: 'data', tls: null };
  it.each<[string, ReturnType<typeof postgresPlace>]>([
    ['postgres://me:pw@db.example/data', place],
    ['postgresql://me:pw@db.example:5433/data', { ...place, port: 5433 }],
    ['postgres://me@db.example', { ...place, password: '', database: 'me' }],
    ['postgres://m%40e:p%2Fw@db.example/d%20a', { ...place, user: 'm@e', password: 'p/w', database: 'd a' }],
    ['postgres://me:pw@[::1]/data', { ...place, host: '[::1]' }],
    ['postgres://me:pw@10.0.0.1/data', { ...place, host: '10.0.0.1' }],
    ['postgres://me:pw@db.example./data', { ...place, host: 'db.example.' }],
    ['postgres://me:pw@_a/data', { ...place, host: '_a' }],
    ['postgres://me:pw@a-b_c.d/data', { ...place, host: 'a-b_c.d' }],
    ['postgres://me:pw@db.example/data?sslmode=disable', place],
    ['postgres://me:pw@db.example/data?sslmode=no-verify', { ...place, tls: { verify: false } }],
    ...['prefer', 'require', 'verify-ca', 'verify-full'].map(
      (mode) =>
        [`postgres://me:pw@db.example/data?sslmode=${mode}`, { ...place, tls: { verify: true } }] as [
          string,
          ReturnType<typeof postgresPlace>,
        ],
    ),
  ])('is read: %s', (url, expected) => {
    expect(postgresPlace(url)).toEqual(expected);
  });

  const HOSTS = `The URL must have one host, as a name or address; sockets and lists of hosts are not supported. Write ${SHAPE}`;
  const MODES = 'sslmode must be one of disable, no-verify, prefer, require, verify-ca, verify-full';
  it.each([
    ['', `Not the URL of a Postgres server; write ${SHAPE}`],
    ['mysql://me@db', `Not the URL of a Postgres server; write ${SHAPE}`],
    ['xpostgres://me@db', `Not the URL of a Postgres server; write ${SHAPE}`],
    ['postgresqlx://me@db', `Not the URL of a Postgres server; write ${SHAPE}`],
    ['postgres:///data', HOSTS],
    ['postgres://me@a,b/data', HOSTS],
    ['postgres://me@%2Ftmp/data', HOSTS],
    ['postgres://me@-a/data', HOSTS],
    ['postgres://me@a-/data', HOSTS],
    ['postgres://me@db:0/data', `The URL has port 0 or a part after #. Write ${SHAPE}`],
    ['postgres://me@db/data#x', `The URL has port 0 or a part after #. Write ${SHAPE}`],
    ['postgres://:pw@db/data', `The URL has no user. Write ${SHAPE}`],
    ['postgres://me@db/a/b', `The URL must have one database. Write ${SHAPE}`],
    ['postgres://me@db/a?host=x&sslmode=require&host=y&port=1', 'The parameter host, port is not supported; only sslmode is'],
    ['postgres://me@db/a?sslmode=always', MODES],
    ['postgres://me@db/a?sslmode=', MODES],
    ['postgres://me@db/a?sslmode=constructor', MODES],
    ['postgres://me@db/a?sslmode=require&sslmode=disable', MODES],
    ['postgres://m%00e@db/a', 'The user has control characters'],
    ['postgres://me:p%1Fw@db/a', 'The password has control characters'],
    ['postgres://me@db/a%7F', 'The database has control characters'],
    ['postgres://me:p%w@db/a', 'The password is not percent-encoded correctly'],
  ])('is refused: %s', (url, reason) => {
    expect(thrown(() => postgresPlace(url))).toBe(reason);
  });
});

describe('the address of a Qdrant server', () => {
  it.each([
    ['http://q.example', 'http://q.example'],
    ['https://q.example:6333/', 'https://q.example:6333'],
    ['https://q.example/a/b//', 'https://q.example/a/b'],
  ])('is read: %s', (url, base) => {
    expect(qdrantBase(url)).toBe(base);
  });
  it.each([
    ['q.example', 'Not an http or https URL'],
    ['ftp://q.example', 'Not an http or https URL'],
    ['https2://q.example', 'Not an http or https URL'],
    ['xhttps://q.example', 'Not an http or https URL'],
    ['https://me@q.example', 'The URL has credentials; use api_key instead'],
    ['https://:pw@q.example', 'The URL has credentials; use api_key instead'],
    ['https://q.example?x', 'The URL has a part after ? or #, which is not supported'],
    ['https://q.example#x', 'The URL has a part after ? or #, which is not supported'],
  ])('is refused: %s', (url, reason) => {
    expect(thrown(() => qdrantBase(url))).toBe(reason);
  });

  it.each<[string, unknown, string | null]>([
    ['builtin', 'nonsense', null],
    ['vector_db', undefined, null],
    ['vector_db', '***', null],
    ['vector_db', 1, 'Not a text'],
    ['vector_db', '', 'Not an http or https URL'],
    ['vector_db', '{{token:x}}', null],
    ['vector_db', '{{token:x}}{{token:y.z-1}}', null],
    ['vector_db', 'https://{{token:host}}.example', null],
    ['vector_db', '{{token:x}}nonsense', 'Not an http or https URL'],
    ['pgvector', 'postgres://me:{{token:pw}}@db/a', null],
    ['pgvector', 'https://db/a', `Not the URL of a Postgres server; write ${SHAPE}`],
  ])('of a source of type %s: %j', (type, url, refusal) => {
    expect(remoteAddressRefusal(type, url, '***')).toBe(refusal);
  });
});

describe('the host of a request', () => {
  const names = ['Perdura.example', '*.inner.example'];
  const only = (host: string | undefined) => hostRule({ listening: '10.0.0.1', names })(host);
  it.each([
    ['localhost', true],
    ['localhost:80', true],
    ['127.0.0.1', true],
    ['[::1]', true],
    ['10.0.0.1:8080', true],
    ['perdura.example.', true],
    ['a.inner.example', true],
    ['inner.example', false],
    ['xinner.example', false],
    ['10.0.0.2', false],
    ['[::2]', false],
    ['evil.example', false],
    ['perdura.example/x', false],
    ['perdura.example?x', false],
    ['perdura.example#x', false],
    ['me@perdura.example', false],
    ['x\\perdura.example', false],
    ['perdura.example x', false],
    ['perdura.example:99999', false],
    ['', false],
    [undefined, false],
  ])('%s', (host, accepted) => {
    expect(only(host)).toBe(accepted);
  });

  it.each(['0.0.0.0', '::'])('is any address, but no name, where %s is listened on', (listening) => {
    const rule = hostRule({ listening });
    expect(['123.123.123.123', '1.2.3.4', '[2001:db8::1]:80', 'localhost'].map(rule)).toEqual([true, true, true, true]);
    expect(['evil.example', '1.2.3.4.example', 'x1.2.3.4.com', 'a.1.2.3.4x'].map(rule)).toEqual([false, false, false, false]);
  });

  it('is an address of IPv6 with or without brackets', () => {
    expect(hostRule({ listening: '2001:db8::1' })('[2001:db8::1]')).toBe(true);
    expect(hostRule({ listening: '[2001:db8::1]' })('[2001:db8::1]')).toBe(true);
  });

  it('is also that of the page', () => {
    const origin = originRule(only);
    expect([undefined, 'http://localhost:3000', 'https://a.inner.example'].map(origin)).toEqual([true, true, true]);
    expect(['null', 'https://evil.example', ''].map(origin)).toEqual([false, false, false]);
  });
});

describe('where a stored token may go', () => {
  const named = { id: 'i', name: 'n' };
  const provider = {
    ...{
      ...named,
      provider_type: 'openai',
      base_url: null,
      auth_type: 'bearer',
      azure_api_version: null,
      azure_deployment: null,
    },
    api_key_token_name: 'k',
  };
  const server = {
    ...named,
    transport_type: 'http',
    connection_config: { url: 'https://x.example:8/{{token:k}}' },
    network: false,
    paths: [],
  };
  const source = { ...named, source_type: 'pgvector', connection_config: { url: '{{token:k}}' } };
  const tool = {
    ...named,
    source_code: 'c',
    network: true,
    env_config: { A: { token_name: 'k' }, B: { token_name: null }, C: {} },
  };
  const workflow = { id: 'w', title: 'W', repo_url: 'https://git.example/a', repo_token_name: 'k', credential_overrides: {} };

  it.each([
    ['a provider', tokenReferences.provider(provider), ['k', 'provider', 'i', 'n', 'the address of openai itself']],
    [
      'a provider at an address',
      tokenReferences.provider({ ...provider, base_url: 'https://x.example/v1' }),
      ['k', 'provider', 'i', 'n', 'x.example'],
    ],
    ['an MCP server', tokenReferences.mcp_server(server), ['k', 'mcp_server', 'i', 'n', 'x.example:8']],
    [
      'a command',
      tokenReferences.mcp_server({
        ...server,
        transport_type: 'stdio',
        connection_config: { command: 'npx', args: ['{{token:k}}'] },
      }),
      ['k', 'mcp_server', 'i', 'n', 'the command npx'],
    ],
    ['a source', tokenReferences.knowledge_source(source), ['k', 'knowledge_source', 'i', 'n', 'an address that is not shown']],
    [
      'a source with a host',
      tokenReferences.knowledge_source({ ...source, connection_config: { host: 'db', url: '{{token:k}}' } }),
      ['k', 'knowledge_source', 'i', 'n', 'db'],
    ],
    [
      'an address without a host',
      tokenReferences.knowledge_source({ ...source, connection_config: { url: 'x:{{token:k}}' } }),
      ['k', 'knowledge_source', 'i', 'n', 'an address that is not shown'],
    ],
    ['a tool', tokenReferences.custom_tool(tool), ['k', 'custom_tool', 'i', 'n', 'A of n']],
    ['a workflow', tokenReferences.workflow(workflow, [tool]), ['k', 'workflow', 'w', 'W', 'the repository at git.example']],
    [
      'a workflow without a title',
      tokenReferences.workflow({ ...workflow, title: null }, []),
      ['k', 'workflow', 'w', 'w', 'the repository at git.example'],
    ],
    [
      'a tool of a workflow',
      tokenReferences.workflow({ ...workflow, repo_url: null, credential_overrides: { A: 'o', Z: 'p' } }, [tool]),
      ['o', 'workflow', 'w', 'W', 'A of the tool n'],
    ],
  ])('is named for people: %s', (_, list, [token, kind, id, name, label]) => {
    expect(list).toEqual([{ token, destination: { kind, id, name, label, facts: expect.anything() } }]);
  });

  it('is nowhere when nothing names one', () => {
    expect(tokenReferences.provider({ ...provider, api_key_token_name: null })).toEqual([]);
    expect(tokenReferences.custom_tool({ ...tool, env_config: undefined })).toEqual([]);
    expect(tokenReferences.workflow({ ...workflow, repo_token_name: null }, [tool, { ...tool, env_config: undefined }])).toEqual(
      [],
    );
    expect(
      tokenReferences.workflow({ ...workflow, repo_url: null, credential_overrides: { A: 'o' } }, [
        { ...tool, env_config: undefined },
      ]),
    ).toEqual([]);
  });

  it('has a noun for each kind', () => {
    expect(SECRET_HOLDERS.map((kind) => HOLDER_NOUNS[kind])).toEqual([
      ...['provider', 'custom tool', 'MCP server', 'knowledge source', 'workflow'],
    ]);
  });
});
