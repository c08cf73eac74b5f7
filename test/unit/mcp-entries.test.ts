import { describe, expect, it } from 'vitest';
import { findMcpServers, parseMcpEntry } from '../../src/api/routes/mcp-entries.ts';
import { listEntryWarnings } from '../../src/api/routes/mcp-import.ts';

const files = { command: 'npx', args: ['-y', 'files@1.0.0'] };

describe('a configuration', () => {
  it.each<[string, object, string?]>([
    ['of most programs', { mcpServers: { files } }],
    ['of VS Code', { inputs: [], servers: { files } }],
    ['in settings of VS Code', { mcp: { inputs: [], servers: { files } } }],
    ['of opencode', { $schema: 'x', mcp: { files } }],
    ['of Zed', { context_servers: { files } }],
    ['of Codex', { mcp_servers: { files } }],
    ['of Amp', { 'amp.mcpServers': { files } }],
    ['of Goose', { extensions: { files } }],
    ['in settings of Cody', { 'cody.mcpServers': { files } }],
    ['in settings of VS Code, as one key', { 'mcp.servers': { files } }],
    ['of Roo, next to an empty one', { mcpServers: null, servers: { files } }],
    ['of Continue, as a list', { mcpServers: [{ name: 'files', ...files }] }],
    ['of Continue, as a list without names', { mcpServers: [files] }, '0'],
    ['without a wrapper', { files }],
    ['of Amp, with a server that has the name of a field', { 'amp.mcpServers': { command: files } }, 'command'],
    ...['acme.mcp', 'x.servers', 'y.extensions', 'mcp'].map((name): [string, object, string] => [
      `without a wrapper, with a server named ${name}`,
      { [name]: files },
      name,
    ]),
  ])('%s is read', (_, body, server_name = 'files') => {
    const [[name, entry]] = findMcpServers(body as Record<string, unknown>).servers as [[string, unknown]];
    expect([name, parseMcpEntry(name, entry)]).toEqual([server_name, { entry: files, warnings: [] }]);
  });

  it('may have servers in several places, and says what else it has', () => {
    const other = { url: 'https://x.example' };
    expect(findMcpServers({ mcpServers: { files }, servers: { other }, inputs: [] })).toEqual({
      servers: [
        ['files', files],
        ['other', other],
      ],
      unread: ['inputs'],
    });
  });

  it.each([{}, { servers: 5 }, { other: { files: 1 } }, { a: { b: 1 } }])('without servers is refused: %j', (body) => {
    expect(() => findMcpServers(body)).toThrow(/mcpServers/);
  });
});

describe('a server', () => {
  it.each([
    [{ serverUrl: 'https://x.example/mcp' }, { url: 'https://x.example/mcp' }],
    [{ httpUrl: 'https://x.example/mcp' }, { url: 'https://x.example/mcp' }],
    [
      { type: 'remote', url: 'https://x.example', enabled: true },
      { type: 'http', url: 'https://x.example' },
    ],
    [
      { type: 'local', command: ['npx', '-y', 'x'], environment: { A: 'b' }, enabled: false },
      { type: 'stdio', command: 'npx', args: ['-y', 'x'], env: { A: 'b' }, disabled: true },
    ],
    [
      { command: 'x', env: { A: '1', B: '2' }, environment: { B: '3', C: '4' } },
      { command: 'x', env: { A: '1', B: '2', C: '4' } },
    ],
    [
      { type: 'constructor', url: 'https://x.example' },
      { type: 'constructor', url: 'https://x.example' },
    ],
    [
      { type: 'HTTP', url: 'https://x.example' },
      { type: 'http', url: 'https://x.example' },
    ],
    [{ url: '', serverUrl: 'https://x.example/mcp' }, { url: 'https://x.example/mcp' }],
    [
      { command: 'x', env: { ID: JSON.rawJSON('12345678901234567890') } },
      { command: 'x', env: { ID: '12345678901234567890' } },
    ],
    [{ command: { path: 'npx', args: ['x'], env: { A: 1 } } }, { command: 'npx', args: ['x'], env: { A: '1' } }],
    [
      { command: { command: 'npx' }, args: ['x'], env: { A: 1 } },
      { command: 'npx', args: ['x'], env: { A: '1' } },
    ],
    [
      { command: 'x', transport: 'sse' },
      { command: 'x', transport: 'sse' },
    ],
    [{ url: 'https://x.example', serverUrl: 'https://y.example' }, { url: 'https://x.example' }],
    [
      { command: 'x', args: ['--port', 80, true], env: { PORT: 80, DEBUG: true, NONE: null } },
      { command: 'x', args: ['--port', '80', 'true'], env: { PORT: '80', DEBUG: 'true' } },
    ],
    [
      { url: 'https://x.example', headers: { 'X-N': 1 } },
      { url: 'https://x.example', headers: { 'X-N': '1' } },
    ],
    [
      { url: 'https://x.example', http_headers: { A: 'b' } },
      { url: 'https://x.example', headers: { A: 'b' } },
    ],
    [
      { transport: { type: 'sse', url: 'https://x.example', requestOptions: { headers: { A: 'b' } } } },
      { type: 'sse', url: 'https://x.example', headers: { A: 'b' } },
    ],
    [
      { command: 'x', disabled: 'true' },
      { command: 'x', disabled: true },
    ],
    [
      { command: 'x', isActive: false },
      { command: 'x', disabled: true },
    ],
    [{ command: 'x', disabled: false, args: null, env: null, headers: null }, { command: 'x' }],
    [
      { command: 'cmd', args: ['/c', 'npx', '-y', 'x'] },
      { command: 'npx', args: ['-y', 'x'] },
    ],
    [
      { command: 'C:\\Windows\\System32\\cmd.exe', args: ['/d', '/s', '/C', 'uvx', 'x'] },
      { command: 'uvx', args: ['x'] },
    ],
    [
      { command: 'cmd', args: ['/c', 'npx.cmd', 'x'] },
      { command: 'npx', args: ['x'] },
    ],
    [
      { command: 'cmd', args: ['/k'] },
      { command: 'cmd', args: ['/k'] },
    ],
    [
      { command: 'npx.cmd', args: ['-y', 'x'] },
      { command: 'npx', args: ['-y', 'x'] },
    ],
    [
      { command: 'uvx.exe', args: ['x'] },
      { command: 'uvx', args: ['x'] },
    ],
    [
      { type: 'stdio', cmd: 'uvx', args: ['x'], envs: { A: 'b' }, enabled: true },
      { type: 'stdio', command: 'uvx', args: ['x'], env: { A: 'b' } },
    ],
    [
      { type: 'streamable_http', uri: 'https://x.example' },
      { type: 'streamable_http', url: 'https://x.example' },
    ],
    [
      { command: 'x', enabled_tools: ['a'] },
      { command: 'x', allowed_tools: ['a'] },
    ],
    [
      { httpUrl: 'https://x.example', includeTools: ['a', 'b'] },
      { url: 'https://x.example', allowed_tools: ['a', 'b'] },
    ],
    [
      { type: 'stdio', cmd: 'x', available_tools: [] },
      { type: 'stdio', command: 'x' },
    ],
    [
      { cmd: 'x', available_tools: ['a'] },
      { command: 'x', allowed_tools: ['a'] },
    ],
    [
      { command: 'x', allowed_tools: null, tools: ['a'] },
      { command: 'x', allowed_tools: ['a'] },
    ],
    ...['allowed_tools', 'allowedTools', 'enabled_tools', 'includeTools', 'available_tools', 'tools'].map(
      (field): [object, object] => [{ command: 'x', [field]: null }, { command: 'x' }],
    ),
    [
      { type: 'local', command: 'x', tools: ['*'] },
      { type: 'stdio', command: 'x' },
    ],
    [
      { type: 'SSE', url: 'https://x.example' },
      { type: 'sse', url: 'https://x.example' },
    ],
    [{ source: 'custom', command: 'x' }, { command: 'x' }],
    [
      { command: 'x', transportType: 'stdio' },
      { command: 'x', type: 'stdio' },
    ],
  ])('%j is %j', (raw, entry) => {
    expect(parseMcpEntry('x', raw)).toEqual({ entry, warnings: [] });
  });

  it.each([
    ...['alwaysAllow', 'autoApprove', 'timeout', 'envFile', 'cwd', 'trust', 'excludeTools', 'disabled_tools', 'disabledTools'],
    ...['startup_timeout_sec', 'tool_timeout_sec', 'bearer_token_env_var', 'env_http_headers', 'initTimeout', 'gallery', 'dev'],
  ])('warns of %s, which no server has here', (field) => {
    const { entry, warnings } = parseMcpEntry('x', { command: 'x', [field]: ['a'] });
    expect([entry, warnings.map(({ path }) => path)]).toEqual([{ command: 'x' }, [`mcpServers.x.${field}`]]);
  });

  it('warns of fields that no server has here', () => {
    const { warnings } = parseMcpEntry('x', { command: 'x', autoApprove: [], cwd: '.' });
    expect(warnings.map(({ path }) => path)).toEqual(['mcpServers.x.autoApprove', 'mcpServers.x.cwd']);
    const { entry, warnings: others } = parseMcpEntry('x', { command: 'x', tools: { a: true } });
    expect([entry, others.map(({ path }) => path)]).toEqual([{ command: 'x' }, ['mcpServers.x.tools']]);
  });

  it.each([
    [5, /object with `command`/],
    [null, /object with `command`/],
    [[], /object with `command`/],
    ['npx', /object with `command`/],
    [{ command: 5 }, /`command`/],
    [{ command: 'x', args: '-y' }, /`args`/],
    [{ url: 5 }, /`url`/],
    [{ command: 'x', enabled_tools: 'a' }, /`allowed_tools`/],
    [{ url: 'https://x.example', type: 5 }, /`type` must be text/],
    [{ command: 'x', enabled_tools: [] }, /allows no tool/],
    [{ command: 'x', enabled_tools: [], available_tools: [] }, /allows no tool/],
    [{ command: 'x', includeTools: [5] }, /`allowed_tools/],
    [{ command: 'x', env: { A: {} } }, /`env.A`/],
    [{ command: 'x', env: 'A=b' }, /`env`/],
    [{ url: 'https://x.example', headers: 'A: b' }, /`headers`/],
    [{ command: 'x', approval_tools: ['a'] }, /`approval_tools` is a field of an agent, so set it there/],
  ])('%j is refused with a sentence', (raw, sentence) => {
    expect(() => parseMcpEntry('x', raw)).toThrow(sentence);
  });
});

const SERVER = 'https://x.example/mcp';
const http = { type: 'http', url: SERVER };

describe('a server behind mcp-remote', () => {
  it.each([
    ['npx', { command: 'npx', args: ['-y', 'mcp-remote', SERVER] }, http],
    ['a version', { command: 'npx', args: ['mcp-remote@0.1.37', SERVER] }, http],
    ['the latest version', { command: 'npx', args: ['-y', 'mcp-remote@latest', SERVER] }, http],
    ['a package', { command: 'npx', args: ['-p', 'mcp-remote@latest', 'mcp-remote', SERVER] }, http],
    ['Windows', { command: 'cmd', args: ['/c', 'npx.cmd', '-y', 'mcp-remote', SERVER] }, http],
    ['a list', { command: ['bunx', 'mcp-remote', SERVER] }, http],
    ['pnpm', { command: 'pnpm', args: ['dlx', 'mcp-remote', SERVER] }, http],
    ['npm', { command: 'npm', args: ['exec', '--', 'mcp-remote', SERVER] }, http],
    ['node', { command: '/usr/bin/node', args: ['/x/node_modules/mcp-remote/dist/proxy.js', SERVER] }, http],
    ...['https://x.example/mcp-remote', 'HTTP://x.example/a/mcp-remote'].map((url): [string, object, object] => [
      `its name and the address ${url}`,
      { command: 'npx', args: ['-y', 'mcp-remote', url] },
      { type: 'http', url },
    ]),
    ['its own name', { command: 'mcp-remote', args: [SERVER], disabled: true }, { ...http, disabled: true }],
    ['allowed tools', { command: 'npx', args: ['mcp-remote', SERVER], includeTools: ['a'] }, { ...http, allowed_tools: ['a'] }],
    [
      'a port and options',
      { command: 'npx', args: ['mcp-remote', SERVER, '3334', '--host', 'h', '--debug', '--allow-http'] },
      http,
    ],
    [
      'headers',
      {
        command: 'npx',
        args: ['mcp-remote', SERVER, '--header', 'Authorization: Bearer a:b', '--header', 'X-A:1', '--header=X-B:'],
      },
      { ...http, headers: { Authorization: 'Bearer a:b', 'X-A': '1', 'X-B': '' } },
    ],
    [
      'a header from its environment',
      { command: 'npx', args: ['mcp-remote', SERVER, '--header', `Authorization:\${AUTH}`], env: { AUTH: 'Bearer x' } },
      { ...http, headers: { Authorization: 'Bearer x' } },
    ],
    [
      'a header from another environment',
      { command: 'npx', args: ['mcp-remote', SERVER, '--header', `Authorization:Bearer \${TOKEN}`] },
      { ...http, headers: { Authorization: `Bearer \${TOKEN}` } },
    ],
    ['a URL from its environment', { command: 'npx', args: ['mcp-remote', `\${URL}`], env: { URL: SERVER } }, http],
    [
      'the older transport',
      { command: 'npx', args: ['mcp-remote', SERVER, '--transport', 'sse-only'] },
      { ...http, type: 'sse' },
    ],
    [
      'the address of the older transport',
      { command: 'npx', args: ['mcp-remote', 'https://x.example/sse'] },
      { type: 'sse', url: 'https://x.example/sse' },
    ],
    [
      'such an address of the newer one',
      { command: 'npx', args: ['mcp-remote', 'https://x.example/sse', '--transport', 'http-only'] },
      { type: 'http', url: 'https://x.example/sse' },
    ],
    [
      'such an address that is tried as the newer one first',
      { command: 'npx', args: ['mcp-remote', 'https://x.example/sse', '--transport', 'http-first'] },
      { type: 'http', url: 'https://x.example/sse' },
    ],
  ])('by %s becomes one with its URL', (_, raw, entry) => {
    expect(parseMcpEntry('x', raw)).toEqual({ entry, warnings: [] });
  });

  it.each([
    ['a filter of tools', { args: ['mcp-remote', SERVER, '--ignore-tool', 'delete*'] }, 'args', /--ignore-tool/],
    [
      'a client',
      { args: ['mcp-remote', SERVER, '--static-oauth-client-info', '{"client_secret":"s3"}'] },
      'args',
      /--static-oauth/,
    ],
    ['an unknown option', { args: ['mcp-remote', '--new', SERVER] }, 'args', /--new/],
    ['a header that is missing', { args: ['mcp-remote', SERVER, '--header'] }, 'args', /--header/],
    ['a header without a name', { args: ['mcp-remote', SERVER, '--header', 's3'] }, 'args', /--header/],
    ['another variable', { args: ['mcp-remote', SERVER], env: { NODE_EXTRA_CA_CERTS: '/s3' } }, 'env', /NODE_EXTRA_CA_CERTS/],
  ])('with %s is converted with a warning', (_, raw, field, sentence) => {
    const { entry, warnings } = parseMcpEntry('x', { command: 'npx', ...raw });
    expect([entry, warnings]).toEqual([http, [{ path: `mcpServers.x.${field}`, message: expect.stringMatching(sentence) }]]);
    expect(JSON.stringify(warnings)).not.toContain('s3');
  });

  it.each([
    ['no address', { command: 'npx', args: ['-y', 'mcp-remote'] }],
    ['another address', { command: 'npx', args: ['-y', 'mcp-remote', 'x.example/mcp'] }],
  ])('with %s stays as it is, with a warning', (_, raw) => {
    const { entry, warnings } = parseMcpEntry('x', raw);
    expect([entry, warnings.map(({ path }) => path)]).toEqual([raw, ['mcpServers.x.args']]);
  });

  it.each([
    { command: 'docker', args: ['run', 'mcp-remote', SERVER] },
    { command: 'npx', args: ['-y', 'mcp-remote-server', SERVER] },
    { command: 'npx', args: ['-y', '@x/mcp-remote', SERVER] },
    { command: 'npx', args: ['-y', 'another', 'https://x.example/mcp-remote'] },
  ])('is not meant by %j', (raw) => {
    expect(parseMcpEntry('x', raw)).toEqual({ entry: raw, warnings: [] });
  });
});

describe('a value', () => {
  const probe = { pathRefusal: async () => null, starts_stdio: true };
  const listPlaceholders = async (headers: Record<string, string>) =>
    (await listEntryWarnings('x', { url: 'https://x.example', headers }, probe)).filter(({ message }) =>
      message.includes('placeholder'),
    );

  it.each([
    ...['{input:api-key}', '{env:KEY}', '{KEY}', '{KEY:-none}', '{{ secrets.KEY }}', 'API_KEY'].map((name) => `Bearer $${name}`),
    ...['%API_KEY%', '{env:API_KEY}', '{file:~/.key}', '{{LIBRECHAT_USER_ID}}', '<YOUR_API_KEY>', 'Bearer <token>'],
  ])('%s has a placeholder of another program', async (text) => {
    expect(await listPlaceholders({ A: text })).toMatchObject([{ path: 'mcpServers.x.headers.A' }]);
  });

  it.each(['{{token:my-key}}', 'Bearer {{ token:my-key }}', 'a%20b%C3%A9', '5$', '$5', 'a < b > c', '{"a": 1}', 'US$A'])(
    '%s has none',
    async (text) => {
      expect(await listPlaceholders({ A: text })).toEqual([]);
    },
  );
});
