import { describe, expect, it } from 'vitest';
import { findHeaderError } from '../../../src/domain/header-value.ts';
import { resolveTarget } from '../../../src/tools/mcp/config.ts';

const UNSENDABLE = ['one\ntwo', 'one\r\ntwo', 'nul\0', 'line\u2028separator', 'pä\u0142'];

describe('a secret for a header', () => {
  it.each(['sk-plain', 'sk-pasted\n', '\tsk-indented', 'sk-latin-é', ''])('may be %j', (text) => {
    expect(findHeaderError(text, 'it')).toBeNull();
  });

  it.each(UNSENDABLE)('cannot be %j, which is not quoted', (text) => {
    const fault = findHeaderError(text, 'the token');
    expect(fault).toBe(
      'the token has a line break within it, or another character that an HTTP header cannot carry; store it again',
    );
  });

  it.each(UNSENDABLE)('of an MCP server is refused by the name of the header: %j', async (text) => {
    const server = {
      ...{ id: 'x', name: 'far', network: false, paths: [], transport_type: 'http' as const },
      connection_config: { url: 'http://127.0.0.1:9/mcp', headers: { Accept: 'x', Authorization: 'Bearer {{token:far}}' } },
    };
    await expect(resolveTarget(server, async () => text)).rejects.toThrow(
      'The MCP server far cannot be called: its header Authorization has a line break',
    );
    await expect(resolveTarget(server, async () => 'fine')).resolves.toMatchObject({
      endpoint: { headers: { Authorization: 'Bearer fine' } },
    });
  });
});
