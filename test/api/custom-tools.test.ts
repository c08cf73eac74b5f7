import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';

const UNKNOWN = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001';

let here: TestInstallation;
let made = 0;
beforeAll(async () => {
  here = await shareInstallation({ worker: false });
});
afterAll(() => here.stop());

/** Stores a tool under a unique name. `body` is what follows the signature. */
async function tool(body: string, { signature = '()', more = {} }: { signature?: string; more?: object } = {}) {
  const name = `tool_${++made}`;
  return here.alice.ok(
    here.alice.post('/api/custom-tools', { name, source_code: `def ${name}${signature}:\n${body}`, ...more }),
    201,
  );
}
const run = (id: string, args: object = {}) =>
  here.alice.ok(here.alice.post(`/api/custom-tools/${id}/run`, { arguments: args }), 200);

describe('a custom tool', () => {
  it('is given the schema of its type hints', async () => {
    const stored = await tool('    return 1\n', { signature: '(a: int, b: float = 1.5, c="x", d: list[str] = None)' });
    expect(stored.parameters_schema).toMatchObject({
      type: 'object',
      properties: { a: { type: 'integer' }, b: { type: 'number', default: 1.5 }, c: { type: 'string', default: 'x' } },
      required: ['a'],
    });
    expect(stored).toMatchObject({ is_enabled: true, is_plugin: false, tags: [], description: '' });
    expect(stored).not.toHaveProperty('env_config');
  });

  it('keeps the schema that it was sent with, and infers it again when source or name changes', async () => {
    const own = { type: 'object', properties: { z: { type: 'string' } } };
    const stored = await tool('    return 1\n', { more: { parameters_schema: own } });
    expect(stored.parameters_schema).toEqual(own);
    const path = `/api/custom-tools/${stored.id}`;
    const source_code = `def ${stored.name}(n: int):\n    return n\n`;
    expect((await here.alice.ok(here.alice.put(path, { description: 'd' }))).parameters_schema).toEqual(own);
    expect((await here.alice.ok(here.alice.put(path, { source_code }))).parameters_schema.required).toEqual(['n']);
    expect((await here.alice.ok(here.alice.put(path, { source_code, parameters_schema: own }))).parameters_schema).toEqual(own);
    expect((await here.alice.put(path, { name: 'other_name' })).status).toBe(422);
    expect((await here.alice.put(path, { source_code: 'def (:' })).status).toBe(422);
  });

  it.each([
    ['a syntax error', 'x', 'def x(:\n  pass', /line 1/],
    ['two functions', 'x', 'def x():\n  pass\ndef y():\n  pass\n', /one function/i],
    ['no function', 'x', 'x = 1\n', /function/i],
    ['another name', 'x', 'def y():\n  pass\n', /x/],
  ])('is refused with %s', async (_what, name, source_code, message) => {
    const refused = await here.alice.post('/api/custom-tools', { name, source_code });
    expect([refused.status, refused.body.code]).toEqual([422, 'invalid_tool']);
    expect(refused.body.errors[0]).toMatchObject({ path: 'source_code', message: expect.stringMatching(message) });
    const judged = await here.alice.ok(here.alice.post('/api/custom-tools/validate', { name, source_code }));
    expect(judged).toMatchObject({ valid: false, error: expect.stringMatching(message) });
  });

  it('is uploaded as a file named after its function', async () => {
    const form = (name: string, text: string) => {
      const body = new FormData();
      body.append('file', new Blob([text]), name);
      return here.alice.post('/api/custom-tools/upload', body);
    };
    const stored = await form('shout.py', 'async def shout(text: str):\n    """Makes it loud."""\n    return text.upper()\n');
    expect([stored.status, stored.body.name, stored.body.description]).toEqual([201, 'shout', 'Makes it loud.']);
    expect(JSON.parse((await run(stored.body.id, { text: 'hey' })).result)).toEqual({ result: 'HEY' });
    expect((await form('shout.txt', 'x')).status).toBe(400);
    expect((await form('broken.py', 'def broken(')).status).toBe(422);
    expect((await form('shout.py', 'def shout():\n  return 1\n')).status).toBe(409);
  });

  it.each([
    ['a dict as it is', '    return {"a": 1}\n', { a: 1 }, true],
    ['another value under result', '    return [1, None]\n', { result: [1, null] }, true],
    ['a dict with its own key "error"', '    return {"error": "mine"}\n', { error: 'mine' }, true],
    ['what it raised', '    raise ValueError("no luck")\n', { error: 'no luck' }, false],
    ['that it printed apart from its result', '    print("noise")\n    return 1\n', { result: 1 }, true],
  ])('answers %s', async (_what, body, result, success) => {
    const answer = await run((await tool(body)).id);
    expect(JSON.parse(answer.result)).toEqual(result);
    expect(answer).toMatchObject({ success, tool_name: expect.any(String), error: success ? null : expect.any(String) });
    if (body.includes('print')) expect(answer.stdout).toBe('noise\n');
  });

  it.each([
    ['crashes', '    import os\n    os.abort()\n'],
    ['returns what is not JSON', '    return {1, 2}\n'],
    ['floods its output', '    import sys\n    sys.stdout.write("x" * 100_000_000)\n    return object()\n'],
  ])('that %s answers with an error and harms nothing', async (_what, body) => {
    const answer = await run((await tool(body)).id);
    expect(answer).toMatchObject({ success: false, error: expect.any(String) });
    expect(answer.stdout.length).toBeLessThanOrEqual(70_000);
    expect((await here.alice.get('/health/live')).status).toBe(200);
  });

  it('is called with arguments that fit its schema; what cannot be made to fit is named and not run', async () => {
    const name = 'doubles';
    const source_code = `def ${name}(n: int) -> int:\n    return n * 2\n`;
    const { id } = await here.alice.ok(here.alice.post('/api/custom-tools', { name, source_code }), 201);
    const answer = await run(id, { n: '5' });
    expect(answer).toMatchObject({ success: true, error: null });
    expect(JSON.parse(answer.result)).toEqual({ result: 10 });
    const refused = await run(id, { n: 'five' });
    expect(refused).toMatchObject({ success: false, error: expect.stringContaining('`n` must be integer'), duration_ms: 0 });
    expect(JSON.parse(refused.result)).toEqual({ error: refused.error });
  });

  it('leaves out a null for an optional parameter, and names one that is required', async () => {
    const name = 'greets';
    const source_code = `def ${name}(who: str, times: int = 3) -> str:\n    return who * times\n`;
    const { id } = await here.alice.ok(here.alice.post('/api/custom-tools', { name, source_code }), 201);
    expect(JSON.parse((await run(id, { who: 'ab', times: null })).result)).toEqual({ result: 'ababab' });
    expect((await run(id, { who: null })).error).toContain('`who` must not be null');
  });

  it('does not run while it is disabled, or when it does not exist', async () => {
    const { id } = await tool('    return 1\n');
    await here.alice.ok(here.alice.put(`/api/custom-tools/${id}`, { is_enabled: false }));
    expect((await here.alice.post(`/api/custom-tools/${id}/run`, {})).status).toBe(409);
    expect((await here.alice.post(`/api/custom-tools/${UNKNOWN}/run`, {})).status).toBe(404);
  });

  it('has network only if it declares NETWORK: for a variable without it, the response has a warning', async () => {
    const asks = (name: string, head: string) =>
      `import os, urllib.request\nENV = {"KEY": "k"}\n${head}def ${name}() -> bool:\n    return "HTTP_PROXY" in os.environ\n`;
    const token = await here.alice.ok(here.alice.post('/api/tokens', { name: 'network-key', value: 'a-value-of-it' }), 201);
    for (const [name, head, network, warned] of [
      ['says_nothing', '', false, 1],
      ['says_no', 'NETWORK = False\n', false, 0],
      ['says_yes', 'NETWORK = True\n', true, 0],
    ] as const) {
      const made = await here.alice.ok(here.alice.post('/api/custom-tools', { name, source_code: asks(name, head) }), 201);
      expect(made.network, name).toBe(network);
      expect(
        (made.warnings ?? []).map(({ message }: { message: string }) => message),
        name,
      ).toEqual(Array(warned).fill(expect.stringContaining('write NETWORK = True if it needs access')));
      await here.alice.ok(here.alice.put(`/api/custom-tools/${made.id}/env-mapping`, { env_mapping: { KEY: 'network-key' } }));
      expect(JSON.parse((await run(made.id)).result), name).toEqual({ result: network });
      const changed = await here.alice.ok(here.alice.put(`/api/custom-tools/${made.id}`, { source_code: asks(name, '') }));
      expect([changed.network, changed.warnings?.length], name).toEqual([false, 1]);
      await here.alice.ok(here.alice.del(`/api/custom-tools/${made.id}`), 204);
    }
    await here.alice.ok(here.alice.del(`/api/tokens/${token.id}`), 204);
  });

  it('receives its variables from stored tokens, whose values never come back', async () => {
    const secret = 'canary-7f3a9c';
    const token = await here.alice.ok(here.alice.post('/api/tokens', { name: 'weather-key', value: secret }), 201);
    const name = 'with_key';
    const source_code = `import os\nENV = {"KEY": "of the service"}\ndef ${name}() -> int:\n    return len(os.environ["KEY"])\n`;
    const stored = await here.alice.ok(here.alice.post('/api/custom-tools', { name, source_code }), 201);
    expect(stored.env_config).toEqual({ KEY: { token_name: null, description: 'of the service' } });
    expect(await run(stored.id)).toMatchObject({ success: false, error: expect.stringContaining('KEY') });
    const path = `/api/custom-tools/${stored.id}/env-mapping`;
    expect((await here.alice.put(path, { env_mapping: { OTHER: 'weather-key' } })).status).toBe(422);
    const early = await here.alice.ok(here.alice.put(path, { env_mapping: { KEY: 'not-stored-yet' } }), 200);
    expect(early.warnings).toEqual([{ path: 'env_mapping.KEY', message: expect.stringContaining('not-stored-yet') }]);
    const mapped = await here.alice.ok(here.alice.put(path, { env_mapping: { KEY: 'weather-key' } }), 200);
    expect(mapped.warnings).toBeUndefined();
    expect(mapped).toMatchObject({ tool_name: name, env_mapping: { KEY: 'weather-key' }, available_tokens: ['weather-key'] });
    expect(JSON.parse((await run(stored.id)).result)).toEqual({ result: secret.length });
    expect((await here.alice.del(`/api/tokens/${token.id}`)).body.detail).toContain(name);
    const shown = [token, mapped, (await here.alice.get('/api/tokens')).body, (await here.alice.get('/api/custom-tools')).body];
    expect(JSON.stringify(shown)).not.toContain(secret);
    expect((await here.bob.post(`/api/custom-tools/${stored.id}/run`, {})).body).toMatchObject({
      success: false,
      error: expect.stringContaining('is not shared'),
    });
    const { rows } = await here.core.database.pool.query("SELECT encode(sealed, 'escape') AS sealed FROM stored_tokens");
    expect(JSON.stringify(rows)).not.toContain(secret);
  });
});
