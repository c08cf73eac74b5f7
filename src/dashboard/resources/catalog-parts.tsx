import { CustomToolCreate, CustomToolUpdate, customTools } from '../../contracts/custom-tools.ts';
import {
  KnowledgeItemCreate,
  KnowledgeItemUpdate,
  KnowledgeSourceCreate,
  KnowledgeSourceUpdate,
  knowledgeItems,
  knowledgeSources,
} from '../../contracts/knowledge.ts';
import { McpServerCreate, McpServerUpdate, mcps, StdioConfig, UrlConfig } from '../../contracts/mcps.ts';
import { ProviderCreate, ProviderUpdate, providers } from '../../contracts/providers.ts';
import { StoredTokenCreate, StoredTokenUpdate, tokens } from '../../contracts/tokens.ts';
import { transfers } from '../../contracts/transfer.ts';
import { Status } from '../ui/show.tsx';
import { column, reference, text } from './columns.tsx';
import type { Field } from './fields.ts';
import { FALLBACK_SETTINGS } from './model-settings.ts';
import { ItemPanel, SourcePanel } from './panels/knowledge-panel.tsx';
import { McpImportButton, McpPanel } from './panels/mcp-panel.tsx';
import { ProviderPanel } from './panels/provider-panel.tsx';
import { ProviderPresets } from './panels/provider-presets.tsx';
import { TokenPanel } from './panels/token-panel.tsx';
import { ToolPanel, ValidateTool } from './panels/tool-panel.tsx';
import { UploadItem, UploadTool } from './panels/upload.tsx';
import type { EditableScreen } from './resource.ts';

export const CUSTOM_TOOLS: EditableScreen = {
  title: 'Custom tools',
  noun: 'tool',
  about: 'Python functions that agents can call. Each call runs isolated in a separate process.',
  endpoints: customTools,
  create: CustomToolCreate,
  update: CustomToolUpdate,
  columns: [
    column.description,
    { label: 'Enabled', show: ({ is_enabled }) => <Status of={is_enabled ? 'enabled' : 'off'} /> },
    text('Effect', ({ effect }) => effect),
    text('Plugin', ({ is_plugin }) => (is_plugin ? 'yes' : 'no')),
    column.tags,
    column.updated,
  ],
  overrides: {
    name: { description: 'The name of the Python function.' },
    source_code: { control: 'code', label: 'Source (Python)' },
    parameters_schema: { label: 'Parameters (JSON Schema)', description: 'Leave it empty to infer it from the type hints.' },
    env_config: {
      label: 'Environment variables (JSON)',
      placeholder: '{"API_KEY": {"token_name": null, "description": "what it is for"}}',
    },
    effect: { none: 'from the source, or write' },
    network: { control: 'switch', label: 'Network access', description: 'On if the source sets NETWORK = True.' },
    is_enabled: { label: 'Enabled' },
  },
  groups: [
    { title: 'Tool', fields: ['name', 'description', 'source_code'] },
    {
      title: 'Settings',
      folded: true,
      help: 'resources#custom-tools',
      fields: ['is_enabled', 'effect', 'network', 'tags', 'parameters_schema', 'env_config'],
    },
  ],
  readonly: ({ is_plugin }) => (is_plugin ? 'This tool is a plugin. Edit its source in the plugin folder.' : null),
  Panel: ToolPanel,
  Extra: ValidateTool,
  Actions: UploadTool,
};

const CONNECTIONS: Record<string, typeof StdioConfig | typeof UrlConfig> = {
  stdio: StdioConfig,
  http: UrlConfig,
  sse: UrlConfig,
};
/** Fields that mean nothing for a server elsewhere. */
const OF_STDIO: Partial<Field> = { by: { field: 'transport_type', choices: { stdio: {} } } };
const OF_AZURE: Partial<Field> = { by: { field: 'provider_type', choices: { azure_openai: {} } } };
const SECRET = 'Values can contain {{token:NAME}}. ******** stands for a stored value; leave it to keep that value.';

export const MCPS: EditableScreen = {
  title: 'MCP servers',
  noun: 'MCP server',
  about: 'Model Context Protocol servers with tools that agents can call.',
  endpoints: mcps,
  create: McpServerCreate,
  update: McpServerUpdate,
  columns: [
    column.status,
    text('Transport', ({ transport_type }) => transport_type),
    { label: 'Enabled', show: ({ is_enabled }) => <Status of={is_enabled ? 'enabled' : 'off'} /> },
    column.description,
    column.tags,
    column.updated,
  ],
  overrides: {
    connection_config: {
      control: 'nested',
      label: 'Connection',
      holds_secret: true,
      nested: ({ transport_type }) => CONNECTIONS[transport_type as string] ?? null,
      nested_overrides: {
        url: { control: 'text', label: 'URL' },
        env: { label: 'Environment (JSON)', description: SECRET },
        oauth: {
          label: 'OAuth client (JSON)',
          description: 'For people who sign in to the server. Without a client_id, Perdura registers itself.',
        },
        headers: { label: 'Headers (JSON)', description: SECRET, placeholder: '{"Authorization": "Bearer {{token:NAME}}"}' },
      },
    },
    is_enabled: { label: 'Enabled' },
    network: { label: 'Network access of a stdio server', description: undefined, ...OF_STDIO },
    allow_secret_questions: { label: 'May ask for passwords and tokens' },
    state: { label: 'Folder of a stdio server that lasts', ...OF_STDIO },
    connect_seconds: { label: 'Seconds for a connection' },
    protocol: { label: 'Version of MCP' },
    paths: { label: 'Folders of a stdio server', ...OF_STDIO },
    allowed_tools: { description: 'Leave it empty to allow all tools.' },
  },
  Panel: McpPanel,
  Actions: McpImportButton,
};

export const PROVIDERS: EditableScreen = {
  title: 'Providers',
  noun: 'provider',
  about:
    'Model endpoints: OpenAI, Anthropic, Gemini, Mistral, OpenRouter, Ollama, Bedrock, Azure, or any OpenAI-compatible endpoint.',
  endpoints: providers,
  create: ProviderCreate,
  update: ProviderUpdate,
  columns: [
    text('Type', ({ provider_type }) => provider_type.replaceAll('_', ' ')),
    text('Default model', ({ default_model }) => default_model),
    text('Address', ({ base_url }) => base_url),
    column.updated,
  ],
  overrides: {
    provider_type: {
      description:
        'Anthropic: agent sessions that run at Anthropic, or chat completions if there is a base URL. ' +
        'Anthropic messages: its Messages API, with the tools called here.',
    },
    api_key_token_name: { control: 'reference', of: 'token', label: 'Stored token with the key', none: 'None' },
    base_url: { placeholder: 'https://…/v1' },
    price_table: { label: 'Prices (JSON)', placeholder: '{"*": {"input": 2.5, "output": 10}}' },
    azure_api_version: OF_AZURE,
    azure_deployment: OF_AZURE,
    ...FALLBACK_SETTINGS,
  },
  Panel: ProviderPanel,
  Fill: ProviderPresets,
};

export const TOKENS: EditableScreen = {
  title: 'Stored tokens',
  noun: 'stored token',
  about: 'API keys and passwords, stored encrypted. Resources refer to them by name; values are never shown.',
  endpoints: tokens,
  create: StoredTokenCreate,
  update: StoredTokenUpdate,
  columns: [
    column.description,
    text('Shared', ({ shared }) => (shared ? 'yes' : 'no')),
    text('Used by', ({ used_by }) => used_by.join(', ') || 'nothing'),
    column.updated,
  ],
  overrides: { value: { control: 'secret' } },
  Panel: TokenPanel,
};

export const KNOWLEDGE_SOURCES: EditableScreen = {
  title: 'Knowledge sources',
  noun: 'source',
  about: 'Collections that agents search. A built-in source stores its items in Perdura.',
  endpoints: knowledgeSources,
  exported: transfers.knowledge_source.exportOne,
  create: KnowledgeSourceCreate,
  update: KnowledgeSourceUpdate,
  columns: [column.status, text('Type', ({ source_type }) => source_type), column.description, column.tags, column.updated],
  overrides: { connection_config: { label: 'Connection (JSON)', placeholder: '', holds_secret: true } },
  Panel: SourcePanel,
};

export const KNOWLEDGE_ITEMS: EditableScreen = {
  title: 'Knowledge items',
  noun: 'item',
  about: 'Texts of a built-in source, split into passages and searched by keywords and by meaning.',
  endpoints: knowledgeItems,
  create: KnowledgeItemCreate,
  update: KnowledgeItemUpdate,
  columns: [
    column.status,
    reference('Source', 'source_id', { kind: 'knowledge_source', slug: 'knowledge-sources' }),
    text('Type', ({ content_type }) => content_type),
    text('Passages', ({ chunks }) => chunks),
    column.tags,
    column.updated,
  ],
  filters: [{ name: 'source_id', label: 'Source', of: 'knowledge_source' }],
  overrides: {
    source_id: { control: 'reference', of: 'knowledge_source' },
    content: { control: 'long', placeholder: '' },
    metadata: { label: 'Metadata (JSON)' },
  },
  complete: { endpoint: knowledgeItems.content, fields: ['content'] },
  Panel: ItemPanel,
  Actions: UploadItem,
};
