import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agents } from '../../src/contracts/agents.ts';
import { providers } from '../../src/contracts/providers.ts';
import { CARDS, toEndpoint } from '../../src/dashboard/make/cards.ts';
import { createMaker, type Service, type Step } from '../../src/dashboard/make/make.ts';
import { buildSteps } from '../../src/dashboard/make/steps.ts';
import { closeScreens, openScreens, readLinks, toText } from '../support/browser/rendered.ts';

let the: Awaited<ReturnType<typeof openScreens>>;
beforeAll(async () => {
  the = await openScreens();
}, 60_000);
afterAll(closeScreens);

const page = (items: object[]) => ({ items, total: items.length, next: null });

describe('the card of an Azure deployment', () => {
  const azure = CARDS.find(({ id }) => id.startsWith('azure'))!;
  const read = (address: string) => toEndpoint(azure, { key: 'a key', address, model: '' });
  it('takes the deployment and the version from its address', () => {
    expect(read('https://office.openai.azure.com/openai/deployments/large%20one/chat?api-version=2026-01')).toEqual({
      endpoint: {
        ...{ provider_type: 'azure_openai', base_url: 'https://office.openai.azure.com' },
        ...{ azure_deployment: 'large one', azure_api_version: '2026-01' },
      },
    });
  });

  it.each(['large', 'https://office.openai.azure.com/openai/'])('refuses %s', (address) => {
    expect(read(address)).toMatchObject({ faults: [{ field: 'address', message: expect.stringContaining('target URI') }] });
  });
});

it('a card needs a model, except to test the key', () => {
  const card = CARDS.find(({ id }) => id === 'mistral')!;
  const typed = { key: 'a key', address: '', model: ' ' };
  expect(toEndpoint(card, typed)).toMatchObject({ faults: [{ field: 'model' }] });
  expect(toEndpoint(card, typed, { testing: true })).toMatchObject({ endpoint: { provider_type: 'openai_compatible' } });
});

describe('the records of a new agent', () => {
  const agent_wishes = {
    ...{ name: 'Clerk', system_prompt: 'Be brief.', custom_tool_ids: ['c3'], builtin_tools: [], mcp_server_ids: [] },
    knowledge_source_ids: ['k5'],
  };
  const wishes = { ...agent_wishes, guardrail_ids: ['g7'] };
  /** Returns the bodies of the records by name. The id of each is its name. */
  function listRecords(
    card_id: string | null,
    typed: { key?: string; address?: string; model?: string },
  ): Record<string, object> {
    const card = CARDS.find(({ id }) => id === card_id);
    const model = { card, typed: { key: '', address: '', model: '', ...typed }, stored: [], provider_id: card ? null : 'p3' };
    const created: Record<string, { id: string }> = {};
    for (const { name, body } of buildSteps({ model, wishes, token_names: [], attempt: 1 }))
      created[name] = { id: name, ...body(created) };
    return created;
  }
  const workflow = { title: 'Clerk', output_format: 'markdown', max_turns: 20, guardrail_ids: ['g7'], agent_id: 'agent' };

  it('have the key as a stored token, and no default model where the address names it', () => {
    const address = 'https://office.openai.azure.com/openai/deployments/large/chat?api-version=2026-01';
    expect(listRecords('azure', { key: ' k7 ', address })).toMatchObject({
      token: { name: 'azure-key', value: 'k7', description: 'Key of Azure OpenAI' },
      provider: { name: 'azure', azure_deployment: 'large', default_model: null, api_key_token_name: 'azure-key' },
      agent: { ...agent_wishes, provider_id: 'provider' },
      workflow,
    });
  });

  it('have no token without a key, and no provider if there is one', () => {
    const { agent, provider, ...others } = listRecords('ollama', { address: 'http://127.0.0.1:11434', model: ' small ' });
    expect([agent, Object.keys(others)]).toEqual([{ id: 'agent', ...agent_wishes, provider_id: 'provider' }, ['workflow']]);
    expect(provider).toEqual({
      ...{ id: 'provider', name: 'ollama', provider_type: 'openai_compatible', default_model: 'small' },
      base_url: 'http://127.0.0.1:11434/v1',
    });
    expect(listRecords(null, {})).toEqual({
      agent: { id: 'agent', ...agent_wishes, provider_id: 'p3' },
      workflow: { id: 'workflow', ...workflow },
    });
  });
});

describe('the choice of a prompt of an MCP server', () => {
  const shown = (prompts: object[]) =>
    the.render(the.McpPromptChoice, {
      props: { servers: [{ value: 's7', label: 'office' }] },
      sent: { list_mcp_prompts: { reply: { prompts } } },
    });

  it('shows the titles of prompts, and the names of those without one', () => {
    const html = shown([
      { name: 'review', title: 'Review a text', arguments: [] },
      { name: 'check', title: null, arguments: [] },
    ]);
    expect(toText(html)).toContain('Prompt Choose … Review a text check');
    expect(html).toContain('<option value="review">Review a text</option>');
  });

  it('says that the server has none', () => {
    expect(toText(shown([]))).toMatch(/This server has no prompts\.$/);
    expect(toText(shown([]))).toMatch(/^MCP server .*Choose … office/);
  });
});

describe('records that are made together', () => {
  const steps: Step[] = [
    { name: 'provider', ...providers, body: () => ({ name: 'near' }) },
    { name: 'agent', ...agents, body: ({ provider }) => ({ provider_id: provider!.id }) },
  ];
  /** A service whose answers to the creation of agents and to deletions are given, an error or an id. */
  function serviceThat({ create, remove }: { create: (Error | string)[]; remove: (Error | null)[] }) {
    const asked: string[] = [];
    let keys = 0;
    const service: Service = {
      async create({ operation }, { idempotency_key }) {
        asked.push(`${operation} ${idempotency_key}`);
        const answer = operation === 'create_provider' ? 'p7' : create.shift()!;
        if (answer instanceof Error) throw answer;
        return { id: answer };
      },
      async remove({ operation }, id) {
        asked.push(`${operation} ${id}`);
        const error = remove.shift();
        if (error) throw error;
      },
      isRefusal: (error) => (error as Error).message === 'refused',
      isGone: (error) => (error as Error).message === 'gone',
      newKey: () => `key ${++keys}`,
    };
    return { asked, maker: createMaker(service) };
  }
  const [refused, lost, gone] = ['refused', 'lost', 'gone'].map((message) => new Error(message)) as [Error, Error, Error];

  it('leave nothing if a request is lost and was never carried out, nor if others have deleted the rest', async () => {
    const { asked, maker } = serviceThat({ create: [lost, refused], remove: [gone] });
    await expect(maker.make(steps)).rejects.toThrow('lost');
    expect(asked).toEqual(['create_provider key 1', 'create_agent key 2', 'create_agent key 2', 'delete_provider p7']);
    expect(maker.listLeftovers()).toEqual([]);
  });

  it('are deleted by the next attempt if they could not be deleted', async () => {
    const { asked, maker } = serviceThat({ create: [refused, 'a11'], remove: [lost] });
    await expect(maker.make(steps)).rejects.toThrow('refused');
    expect(maker.listLeftovers()).toEqual(['provider']);
    expect(await maker.make(steps)).toEqual({ provider: { id: 'p7' }, agent: { id: 'a11' } });
    expect(asked.slice(2)).toEqual(['delete_provider p7', 'delete_provider p7', 'create_provider key 3', 'create_agent key 4']);
    expect(maker.listLeftovers()).toEqual([]);
  });
});

describe('the page that creates an agent', () => {
  const presets = CARDS.filter(({ is_preset }) => is_preset).map(({ id }) => ({ id, model_example: 'vendor/m-7' }));
  const price = { input: 3.5, output: 11 };
  const hint = (...models: object[]) =>
    toText(
      the.render(the.MakePage, {
        at: '/make',
        replies: {
          list_providers: page([]),
          list_agents: page([]),
          list_provider_presets: presets as never,
          get_model_catalogue: { models },
        },
      }),
    );

  it('says what the catalogue knows about the model', () => {
    const model = { id: 'm-7', aliases: ['m-latest'], price, ends_on: null };
    expect(hint(model)).toContain('$3.50 in and $11.00 out per million tokens.');
    expect(hint({ ...model, id: 'm', aliases: ['m-7'], ends_on: '2031-05-01' })).toContain('tokens. It ends on 2031-05-01.');
    expect(hint({ ...model, price: null, ends_on: '2031-05-01' })).toContain('No price known. It ends on 2031-05-01.');
    expect(hint({ ...model, price: null })).toContain('No price known.');
    expect(hint({ ...model, id: 'm-77', aliases: [] })).toContain('The catalogue does not have this model: no price known.');
  });
});

describe('the first run', () => {
  it('begins with a workflow that can be used, and its own words', () => {
    const workflow = (id: string, more: object) => ({
      id,
      title: null,
      status: 'active',
      agent_id: 'a7',
      on_busy: 'enqueue',
      ...more,
    });
    const shown = (...items: object[]) => the.render(the.FirstRun, { replies: { list_workflows: page(items) } });
    const html = shown(workflow('w3', { status: 'inactive' }), workflow('w5', {}));
    expect(readLinks(html)).toMatchObject({ 'Untitled workflow': '/workflows/w5' });
    expect(html).not.toMatch(/<textarea[^>]*>[^<]/);
    expect(toText(html)).toContain('Make your own');
    expect(toText(shown(workflow('w3', { status: 'inactive' })))).toMatch(/^Make your first agent/);
  });
});
