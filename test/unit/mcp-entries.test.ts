import { describe, expect, it } from 'vitest';
import { findMcpServers, parseMcpEntry } from '../../src/api/routes/mcp-entries.ts';

const files = { command: 'npx', args: ['-y', 'files@1.0.0'] };

describe('a configuration', () => {
  it.each([
    ['of most programs', { mcpServers: { files } }],
    ['of VS Code', { inputs: [], servers: { files } }],
    ['in settings of VS Code', { mcp: { inputs: [], servers: { files } } }],
    ['of opencode', { $schema: 'x', mcp: { files } }],
    ['of Zed', { context_servers: { files } }],
    ['of Codex', { mcp_servers: { files } }],
    ['of Amp', { 'amp.mcpServers': { files } }],
    ['of Continue, as a list', { mcpServers: [{ name: 'files', ...files }] }],
    ['without a wrapper', { files }],
  ])('%s is read', (_, body) => {
    const [[name, entry]] = findMcpServers(body).servers as [[string, unknown]];
    expect([name, parseMcpEntry(name, entry)]).toEqual(['files', { entry: files, warnings: [] }]);
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
    [{ url: '', serverUrl: 'https://x.example/mcp' }, { url: 'https://x.example/mcp' }],
    [
      { command: 'x', env: { ID: JSON.rawJSON('12345678901234567890') } },
      { command: 'x', env: { ID: '12345678901234567890' } },
    ],
    [{ command: { path: 'npx', args: ['x'], env: { A: 1 } } }, { command: 'npx', args: ['x'], env: { A: '1' } }],
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
      { command: 'x', transportType: 'stdio' },
      { command: 'x', type: 'stdio' },
    ],
  ])('%j is %j', (raw, entry) => {
    expect(parseMcpEntry('x', raw)).toEqual({ entry, warnings: [] });
  });

  it('warns of fields that no server has here', () => {
    const { warnings } = parseMcpEntry('x', { command: 'x', autoApprove: [], cwd: '.' });
    expect(warnings.map(({ path }) => path)).toEqual(['mcpServers.x.autoApprove', 'mcpServers.x.cwd']);
  });

  it.each([
    [5, /object with `command`/],
    [null, /object with `command`/],
    [[], /object with `command`/],
    ['npx', /object with `command`/],
    [{ command: 5 }, /`command`/],
    [{ command: 'x', args: '-y' }, /`args`/],
    [{ url: 5 }, /`url`/],
    [{ command: 'x', env: { A: {} } }, /`env.A`/],
  ])('%j is refused with a sentence', (raw, sentence) => {
    expect(() => parseMcpEntry('x', raw)).toThrow(sentence);
  });
});
