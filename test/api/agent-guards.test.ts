import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation({ worker: false });
});
afterAll(() => here.stop());

let made = 0;
const sourceOf = (name: string) => `def ${name}() -> str:\n    return "done"\n`;
async function customTool() {
  const name = `send${++made}`;
  const id = (await here.alice.ok(here.alice.post('/api/custom-tools', { name, source_code: sourceOf(name) }))).id as string;
  const rename = (to: string) =>
    here.alice.ok(here.alice.put(`/api/custom-tools/${id}`, { name: to, source_code: sourceOf(to) }));
  return { id, name, rename };
}
const agent = (values: object) => ({ name: `guarded agent ${++made}`, builtin_tools: ['bash', 'write'], ...values });
const create = (values: object) => here.alice.ok(here.alice.post('/api/agents', agent(values)), 201);
const get = (id: string) => here.alice.ok(here.alice.get(`/api/agents/${id}`));
/** What a run of the agent would be pinned with. */
const pinned = async (id: string) => {
  const { id: workflow_id } = await here.alice.ok(here.alice.post('/api/workflows', { agent_id: id }));
  const snapshot = await here.core.store.versions.current(workflow_id);
  return snapshot!.definition;
};
const importing = (path: string, body: object, strict = false) =>
  here.alice.post(path, body, strict ? { prefer: 'handling=strict' } : undefined);

/** Each door by which a value of `approval_tools` is written, with the errors it answers: [] if it was written. */
const DOORS: Record<string, (values: object) => Promise<string[]>> = {
  async create(values) {
    const { status, body } = await here.alice.post('/api/agents', agent(values));
    return status === 201 ? [] : body.errors.map(({ message }: { message: string }) => message);
  },
  async update(values) {
    const { id } = await create({});
    const { status, body } = await here.alice.put(`/api/agents/${id}`, values);
    return status === 200 ? [] : body.errors.map(({ message }: { message: string }) => message);
  },
  async 'import of agents'(values) {
    const { body } = await importing('/api/agents/import', { items: [agent(values)] });
    return body.errors;
  },
  async 'import of a bundle'(values) {
    const { body } = await importing('/api/import', { version: '1.0', agents: [agent(values)] });
    return body.agents.errors;
  },
};

describe.each(Object.keys(DOORS))('a name in approval_tools that fits no tool of the agent, on %s', (door) => {
  it('is refused with the nearest name', async () => {
    expect(await DOORS[door]!({ approval_tools: ['writ'] })).toEqual([
      expect.stringContaining('No tool of this agent is named `writ`; did you mean `write`?'),
    ]);
    expect(await DOORS[door]!({ approval_tools: ['something_else'] })).toEqual([
      expect.stringContaining('its tools are bash, write'),
    ]);
    expect(await DOORS[door]!({ approval_tools: ['bash'] })).toEqual([]);
  });
});

it('knows every operation that writes approval_tools', async () => {
  const { paths, components } = await here.alice.ok(here.alice.get('/openapi.json'));
  const writesGuards = (schema: unknown): boolean => {
    const text = JSON.stringify(schema ?? null);
    const named = [...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => components.schemas[name as string]);
    return text.includes('"approval_tools"') || named.some(writesGuards);
  };
  const writing = Object.entries(paths as Record<string, Record<string, { requestBody?: unknown }>>).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { requestBody }]) => writesGuards(requestBody))
      .map(([method]) => `${method.toUpperCase()} ${path}`),
  );
  expect(writing.sort()).toEqual(['POST /api/agents', 'POST /api/agents/import', 'POST /api/import', 'PUT /api/agents/{id}']);
});

describe('a guard', () => {
  it('is shown by the present name of its tool, and sending back what was read changes nothing', async () => {
    const tool = await customTool();
    const { id } = await create({ custom_tool_ids: [tool.id], approval_tools: [tool.name, 'bash'] });
    await tool.rename(`renamed_${tool.name}`);
    const read = await get(id);
    expect(read.approval_tools).toEqual([`renamed_${tool.name}`, 'bash']);
    expect((await here.alice.ok(here.alice.get('/api/agents'))).find((one: { id: string }) => one.id === id)).toMatchObject({
      approval_tools: [`renamed_${tool.name}`, 'bash'],
    });
    const before = (await pinned(id)).guarded_tools;
    const sent = await here.alice.put(`/api/agents/${id}`, read);
    expect(sent).toMatchObject({ status: 200, body: { approval_tools: read.approval_tools } });
    expect((await pinned(id)).guarded_tools).toEqual(before);
    expect(before).toEqual([`custom:${tool.id}`, 'builtin:bash']);
  });

  it('stays when its tool is taken from the agent and given back, with a warning meanwhile', async () => {
    const tool = await customTool();
    const { id } = await create({ custom_tool_ids: [tool.id], approval_tools: [tool.name] });
    const without = await here.alice.ok(here.alice.put(`/api/agents/${id}`, { custom_tool_ids: [] }));
    expect(without.warnings).toEqual([{ path: 'approval_tools', message: expect.stringContaining(tool.name) }]);
    await tool.rename(`later_${tool.name}`);
    await here.alice.ok(here.alice.put(`/api/agents/${id}`, { custom_tool_ids: [tool.id] }));
    expect(await get(id)).toMatchObject({ approval_tools: [`later_${tool.name}`] });
    expect((await pinned(id)).guarded_tools).toEqual([`custom:${tool.id}`]);
  });

  it('is taken away by leaving out its present name', async () => {
    const tool = await customTool();
    const { id } = await create({ custom_tool_ids: [tool.id], approval_tools: [tool.name, 'bash'] });
    await tool.rename(`other_${tool.name}`);
    await here.alice.ok(here.alice.put(`/api/agents/${id}`, { approval_tools: ['bash'] }));
    const { guarded_tools, approval_tools } = await pinned(id);
    expect({ guarded_tools, approval_tools }).toEqual({ guarded_tools: ['builtin:bash'], approval_tools: ['bash'] });
  });

  it('of a server that has not listed its tools is unresolved, said in warnings, and refused by strict handling', async () => {
    const values = {
      name: `unlisted ${++made}`,
      transport_type: 'http',
      connection_config: { url: 'https://mcp.example.com/x' },
    };
    const { id: server } = await here.alice.ok(here.alice.post('/api/mcps', values));
    const body = { mcp_server_ids: [server], approval_tools: ['send_mail'] };
    const strict = await here.alice.post('/api/agents', agent(body), { prefer: 'handling=strict' });
    expect(strict).toMatchObject({ status: 422, body: { code: 'strict_handling' } });
    const { id, warnings } = await create(body);
    expect(warnings).toEqual([{ path: 'approval_tools', message: expect.stringContaining(`the MCP server ${values.name}`) }]);
    expect((await pinned(id)).approval_tools).toEqual(['send_mail']);
    const imported = await importing('/api/agents/import', { items: [agent(body)] });
    expect(imported.body).toMatchObject({ created: 1, errors: [] });
    expect(JSON.stringify(imported.body.warnings)).toContain('send_mail');
  });

  it('of an imported agent is unresolved while its tools are not here', async () => {
    const absent = (field: string) => ({ [field]: ['01900000-0000-7000-8000-000000000000'], approval_tools: ['send_mail'] });
    const items = [absent('custom_tool_ids'), absent('mcp_server_ids'), absent('required_mcp_servers')].map(agent);
    const { body } = await importing('/api/agents/import', { items });
    expect(body).toMatchObject({ created: 3, errors: [] });
    const sentences = body.warnings
      .map(({ message }: { message: string }) => message)
      .filter((one: string) => /send_mail/.test(one));
    expect(sentences).toEqual([
      expect.stringContaining('the tools of a custom tool that is not here are not known yet'),
      expect.stringContaining('the tools of an MCP server that is not here are not known yet'),
      expect.stringContaining('the tools of an MCP server that is not here are not known yet'),
    ]);
  });

  it('is not lost if the tools are changed at the same time', async () => {
    const { id } = await create({});
    await Promise.all([
      here.alice.ok(here.alice.put(`/api/agents/${id}`, { approval_tools: ['bash'] })),
      here.alice.ok(here.alice.put(`/api/agents/${id}`, { builtin_tools: ['bash'] })),
    ]);
    expect((await pinned(id)).approval_tools).toEqual(['bash']);
  });

  it('is exported by the present name of its tool', async () => {
    const tool = await customTool();
    const { id } = await create({ custom_tool_ids: [tool.id], approval_tools: [tool.name] });
    await tool.rename(`exported_${tool.name}`);
    const { items } = await here.alice.ok(here.alice.get(`/api/agents/${id}/export`));
    expect(items).toMatchObject([{ approval_tools: [`exported_${tool.name}`] }]);
    expect(items[0]).not.toHaveProperty('approval_guards');
  });

  it.each(['change', 'copy'])(
    'comes back with a version of the workflow (agent: %s), although its tool was renamed',
    async (choice) => {
      const tool = await customTool();
      const { id } = await create({ custom_tool_ids: [tool.id], approval_tools: [tool.name], approve_effects: ['write'] });
      const { id: workflow_id } = await here.alice.ok(here.alice.post('/api/workflows', { agent_id: id }));
      await tool.rename(`back_${tool.name}`);
      await here.alice.ok(here.alice.put(`/api/agents/${id}`, { approval_tools: [], approve_effects: [] }));
      await here.alice.ok(here.alice.put(`/api/workflows/${workflow_id}`, { title: 'changed' }));
      const restored = await here.alice.ok(
        here.alice.post(`/api/workflows/${workflow_id}/versions/1/restore`, { agent: choice }),
      );
      const now = await get(restored.agent_id);
      expect(now).toMatchObject({ approval_tools: [`back_${tool.name}`], approve_effects: ['write'] });
      expect((await pinned(now.id)).guarded_tools).toEqual([`custom:${tool.id}`]);
    },
  );
});
