import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CallSettingFields } from '../../src/contracts/call-settings.ts';
import { canonicalJson } from '../../src/domain/canonical-json.ts';
import { type Destination, SECRET_HOLDERS, tokenReferences } from '../../src/domain/destinations.ts';

const SCHEMA = readFileSync(resolve(import.meta.dirname, '../../prisma/schema.prisma'), 'utf8');

/** The columns of a model, without its relations to other models. */
function columnsOf(model: string): string[] {
  const body = new RegExp(`^model ${model} \\{$([\\s\\S]*?)^\\}`, 'm').exec(SCHEMA)?.[1] ?? '';
  const models = [...SCHEMA.matchAll(/^model (\w+) \{/gm)].map(([, name]) => name);
  const fields = [...body.matchAll(/^ {2}(\w+) +(\w+)/gm)];
  return fields.filter(([, , type]) => !models.includes(type)).map(([, name]) => name as string);
}

const ALWAYS = ['id', 'created_by', 'created_at', 'updated_at'];
const KEYS = ['description', 'tags', 'status', 'last_error'];

interface Row {
  model: string;
  row: Record<string, unknown>;
  /** Another value of each field that decides where a secret goes or which code sees it. */
  deciding: Record<string, unknown>;
  /** Fields that name the secrets; what they name is asked for instead. */
  naming: string[];
  harmless: string[];
  destination(row: Record<string, unknown>): Destination | undefined;
}

const first = (list: { destination: Destination }[]) => list[0]?.destination;
const TOOL = { id: 't', name: 'look', source_code: 'a', network: false, env_config: { KEY: { token_name: 'k' } } };
const WORKFLOW = { id: 'w', title: 'w', repo_url: 'https://one.example/r', repo_token_name: 'k', credential_overrides: {} };

const ROWS: Record<(typeof SECRET_HOLDERS)[number], Row> = {
  provider: {
    model: 'Provider',
    row: {
      ...{ id: 'p', name: 'p', provider_type: 'openai_compatible', base_url: 'https://one.example/v1', auth_type: 'bearer' },
      ...{ azure_api_version: null, azure_deployment: null, api_key_token_name: 'k' },
    },
    deciding: {
      ...{ provider_type: 'openai', base_url: 'https://two.example', auth_type: 'x-api-key' },
      ...{ azure_api_version: '1', azure_deployment: 'd' },
    },
    naming: ['api_key_token_name'],
    harmless: [
      ...['fallbacks', 'fallback_minutes'],
      'name',
      'default_model',
      'requests_per_minute',
      'price_table',
      'context_window',
      'model_total_seconds',
      'model_silence_seconds',
    ],
    destination: (row) => first(tokenReferences.provider(row as never)),
  },
  custom_tool: {
    model: 'CustomTool',
    row: TOOL,
    deciding: { name: 'other', source_code: 'b', network: true, env_config: { OTHER: { token_name: 'k' } } },
    naming: [],
    harmless: ['parameters_schema', 'is_enabled', 'is_plugin', 'effect'],
    destination: (row) => first(tokenReferences.custom_tool(row as never)),
  },
  mcp_server: {
    model: 'McpServer',
    row: {
      ...{ id: 'm', name: 'm', transport_type: 'http', network: false, paths: [] },
      connection_config: { url: 'https://one.example/{{token:k}}' },
    },
    deciding: {
      ...{ transport_type: 'sse', network: true, paths: ['/srv'] },
      connection_config: { url: 'https://two.example/{{token:k}}' },
    },
    naming: [],
    harmless: ['allow_secret_questions', 'connect_seconds', 'protocol', 'state', 'name', 'allowed_tools', 'is_enabled'],
    destination: (row) => first(tokenReferences.mcp_server(row as never)),
  },
  knowledge_source: {
    model: 'KnowledgeSource',
    row: {
      id: 's',
      name: 's',
      source_type: 'vector_db',
      connection_config: { url: 'https://one.example', api_key: '{{token:k}}' },
    },
    deciding: {
      source_type: 'pgvector',
      connection_config: { url: 'https://two.example', api_key: '{{token:k}}' },
    },
    naming: [],
    harmless: ['name'],
    destination: (row) => first(tokenReferences.knowledge_source(row as never)),
  },
  workflow: {
    model: 'Workflow',
    row: WORKFLOW,
    deciding: { repo_url: 'https://two.example/r' },
    // Which tools the overrides go to is read from the agent; see below.
    naming: ['repo_token_name', 'credential_overrides', 'agent_id'],
    harmless: [
      ...[
        'owner',
        'owner_login',
        'title',
        'model',
        'max_turns',
        'skill_ids',
        'skill_tags',
        'output_format',
        'output_schema',
        'reasoning_effort',
      ],
      ...['infinite_session', 'bypass_memory', 'auto_memory', 'tsv_tool_results', 'caveman', 'guardrail_ids', 'guardrail_tags'],
      ...[
        'repo_branch',
        'webhook_url',
        'error_webhook_url',
        'budget',
        'on_busy',
        'remember',
        'on_inactive',
        'newest_interrupt',
        'single_use',
        'evaluation_id',
        'current_turn',
        'active_task_id',
      ],
      ...[
        'accepted_tasks',
        'version_count',
        'task_count',
        'last_task_id',
        'last_task_status',
        'last_task_at',
        'model_total_seconds',
        'model_silence_seconds',
      ],
      ...Object.keys(CallSettingFields),
    ],
    destination: (row) => first(tokenReferences.workflow(row as never, [])),
  },
};

describe.each(SECRET_HOLDERS)('the destination of a %s', (kind) => {
  const { model, row, deciding, naming, harmless, destination } = ROWS[kind];

  it('is judged for every field that there is', () => {
    const judged = [...Object.keys(deciding), ...naming, ...harmless, ...ALWAYS];
    const columns = columnsOf(model);
    expect(columns.length).toBeGreaterThan(ALWAYS.length);
    expect(columns.filter((column) => !judged.includes(column) && !KEYS.includes(column))).toEqual([]);
  });

  it.each(Object.keys(deciding))('changes with its %s', (field) => {
    const [before, after] = [destination(row), destination({ ...row, [field]: deciding[field] })];
    expect(canonicalJson(after?.facts)).not.toBe(canonicalJson(before?.facts));
  });

  it('has a label that holds no secret', () => {
    expect(destination(row)?.label).not.toMatch(/token|:\/\//);
  });
});

describe('what a resource asks for', () => {
  const HIDDEN = 'an address that is not shown';
  const labels = (list: { token: string; destination: Destination }[]) =>
    list.map(({ token, destination }) => [token, destination.label]);
  const provider = ROWS.provider.row as unknown as Parameters<typeof tokenReferences.provider>[0];
  const server = { id: 'm', name: 'm', transport_type: 'http', network: false, paths: [] };
  const source = { id: 's', name: 's', source_type: 'vector_db' };

  it('is nothing where no token is named', () => {
    expect(tokenReferences.provider({ ...provider, api_key_token_name: null })).toEqual([]);
    expect(tokenReferences.mcp_server({ ...server, connection_config: { url: 'https://one.example' } })).toEqual([]);
    expect(tokenReferences.custom_tool({ ...TOOL, env_config: undefined })).toEqual([]);
    expect(tokenReferences.workflow({ ...WORKFLOW, repo_token_name: null }, [TOOL])).toEqual([]);
    expect(tokenReferences.workflow({ ...WORKFLOW, repo_url: null }, [TOOL])).toEqual([]);
  });

  it('has the kind, the id and the name of the resource', () => {
    const places = SECRET_HOLDERS.map((kind) => ROWS[kind].destination(ROWS[kind].row));
    expect(places.map((place) => [place?.kind, place?.id, place?.name])).toEqual([
      ['provider', 'p', 'p'],
      ['custom_tool', 't', 'look'],
      ['mcp_server', 'm', 'm'],
      ['knowledge_source', 's', 's'],
      ['workflow', 'w', 'w'],
    ]);
    const [untitled] = tokenReferences.workflow({ ...WORKFLOW, title: null }, []);
    expect(untitled?.destination.name).toBe('w');
  });

  it.each([
    ['https://one.example:8443/v1?key=x', 'one.example:8443'],
    [null, 'the address of openai itself'],
    ['not an address', HIDDEN],
    ['mailto:alice@one.example', HIDDEN],
  ])('of a provider at %j is shown as %j', (base_url, label) => {
    expect(labels(tokenReferences.provider({ ...provider, provider_type: 'openai', base_url }))).toEqual([['k', label]]);
  });

  it.each([
    ['http', { url: 'https://one.example/{{token:k}}' }, 'one.example'],
    ['http', { url: 7, headers: { key: '{{token:k}}' } }, HIDDEN],
    ['stdio', { command: 'npx', env: { KEY: '{{token:k}}' } }, 'the command npx'],
  ])('of an MCP server over %s with %j is shown as %j', (transport_type, connection_config, label) => {
    expect(labels(tokenReferences.mcp_server({ ...server, transport_type, connection_config }))).toEqual([['k', label]]);
  });

  it.each([
    [{ url: 'https://one.example:6333/x', api_key: '{{token:k}}' }, 'one.example:6333'],
    [{ host: 'db.example', url: 'https://one.example', password: '{{token:k}}' }, 'db.example'],
    [{ host: 5, password: '{{token:k}}' }, HIDDEN],
  ])('of a knowledge source with %j is shown as %j', (connection_config, label) => {
    expect(labels(tokenReferences.knowledge_source({ ...source, connection_config }))).toEqual([['k', label]]);
  });

  it('of a custom tool is each variable that has a token', () => {
    const env_config = { KEY: { token_name: 'k' }, NONE: { token_name: null }, EMPTY: {}, OTHER: { token_name: 'o' } };
    expect(labels(tokenReferences.custom_tool({ ...TOOL, env_config }))).toEqual([
      ['k', 'KEY of look'],
      ['o', 'OTHER of look'],
    ]);
  });

  it('of a workflow is its repository, and each override of a variable that a tool has', () => {
    const credential_overrides = { KEY: 'mine', ABSENT: 'other' };
    const tools = [TOOL, { ...TOOL, id: 'u', name: 'plain', env_config: undefined }];
    expect(labels(tokenReferences.workflow({ ...WORKFLOW, credential_overrides }, tools))).toEqual([
      ['k', 'the repository at one.example'],
      ['mine', 'KEY of the tool look'],
    ]);
  });
});

it('of an override is the tool: its id, name, source and network', () => {
  const overriding = { ...WORKFLOW, repo_token_name: null, credential_overrides: { KEY: 'k' } };
  const of = (tool: object) => canonicalJson(first(tokenReferences.workflow(overriding, [{ ...TOOL, ...tool }]))?.facts);
  const all = [{}, { id: 'u' }, { name: 'n' }, { source_code: 'b' }, { network: true }].map(of);
  expect(new Set(all).size).toBe(all.length);
  expect(tokenReferences.workflow(overriding, [{ ...TOOL, env_config: {} }])).toEqual([]);
});

it('is the same text for the same facts, in whatever order they come', () => {
  expect(canonicalJson({ b: [1, { d: 1, c: undefined }], a: null })).toBe(canonicalJson({ a: null, b: [1, { d: 1 }] }));
  expect(canonicalJson({ a: ['1', '2'] })).not.toBe(canonicalJson({ a: ['2', '1'] }));
});
