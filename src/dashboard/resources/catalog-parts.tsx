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
import { ItemPanel, SourcePanel } from './panels/knowledge-panel.tsx';
import { McpImportButton, McpPanel } from './panels/mcp-panel.tsx';
import { ProviderPanel } from './panels/provider-panel.tsx';
import { TokenPanel } from './panels/token-panel.tsx';
import { ToolPanel, ValidateTool } from './panels/tool-panel.tsx';
import { UploadItem, UploadTool } from './panels/upload.tsx';
import type { ResourceScreen } from './resource.ts';

export const CUSTOM_TOOLS: ResourceScreen = {
  title: 'Custom tools',
  noun: 'tool',
  about: 'Python functions that agents may call. Each call runs confined, in a process of its own.',
  endpoints: customTools,
  create: CustomToolCreate,
  update: CustomToolUpdate,
  columns: [
    column.description,
    { label: 'Enabled', show: ({ is_enabled }) => <Status of={is_enabled ? 'enabled' : 'off'} /> },
    text('Effect', ({ effect }) => effect),
    text('From', ({ is_plugin }) => (is_plugin ? 'plugin' : 'here')),
    column.tags,
    column.updated,
  ],
  overrides: {
    name: { description: 'The name of the function.' },
    source_code: { control: 'code', label: 'Source (Python)' },
    parameters_schema: { label: 'Parameters (JSON Schema)', description: 'Left empty: inferred from the type hints.' },
    env_config: {
      label: 'Environment variables (JSON)',
      placeholder: '{"API_KEY": {"token_name": null, "description": "what it is for"}}',
    },
    effect: { none: "as the file says, or 'write'" },
    network: { control: 'switch', label: 'May reach the network', description: 'On when the source says NETWORK = True.' },
    is_enabled: { label: 'Enabled' },
  },
  groups: [
    { title: 'Tool', fields: ['name', 'description', 'source_code'] },
    { title: 'Settings', fields: ['is_enabled', 'effect', 'network', 'tags', 'parameters_schema', 'env_config'] },
  ],
  readonly: ({ is_plugin }) => (is_plugin ? 'This tool came as a plugin: its source is changed in the folder of plugins.' : null),
  Panel: ToolPanel,
  Extra: ValidateTool,
  Actions: UploadTool,
};

const CONNECTIONS: Record<string, typeof StdioConfig | typeof UrlConfig> = {
  stdio: StdioConfig,
  http: UrlConfig,
  sse: UrlConfig,
};
const SECRET = 'Values may hold {{token:NAME}}. ******** stands for a value that is kept sealed.';

export const MCPS: ResourceScreen = {
  title: 'MCP servers',
  noun: 'MCP server',
  about: 'Servers of the Model Context Protocol, whose tools agents may call.',
  endpoints: mcps,
  create: McpServerCreate,
  update: McpServerUpdate,
  columns: [
    column.status,
    text('Transport', ({ transport_type }) => transport_type),
    column.description,
    column.tags,
    column.updated,
  ],
  overrides: {
    connection_config: {
      control: 'nested',
      label: 'Connection',
      nested: ({ transport_type }) => CONNECTIONS[transport_type as string] ?? null,
      nested_overrides: {
        url: { control: 'text', label: 'URL' },
        env: { label: 'Environment (JSON)', description: SECRET },
        headers: { label: 'Headers (JSON)', description: SECRET, placeholder: '{"Authorization": "Bearer {{token:NAME}}"}' },
      },
    },
    network: { label: 'A stdio server may reach the network', description: undefined },
    paths: { label: 'Folders of a stdio server' },
    allowed_tools: { description: 'Empty: all.' },
  },
  Panel: McpPanel,
  Actions: McpImportButton,
};

export const PROVIDERS: ResourceScreen = {
  title: 'Providers',
  noun: 'provider',
  about: 'Where models are: OpenAI, Azure, Anthropic, or any OpenAI-compatible endpoint.',
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
    api_key_token_name: { control: 'reference', of: 'token', label: 'Stored token with the key', none: 'None' },
    base_url: { placeholder: 'https://…/v1' },
    price_table: { label: 'Prices (JSON)', placeholder: '{"*": {"input": 2.5, "output": 10}}' },
  },
  Panel: ProviderPanel,
};

export const TOKENS: ResourceScreen = {
  title: 'Stored tokens',
  noun: 'stored token',
  about: 'Keys and passwords, held encrypted. They are used by name; a value never comes back.',
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

export const KNOWLEDGE_SOURCES: ResourceScreen = {
  title: 'Knowledge sources',
  noun: 'source',
  about: 'Collections that agents draw on. A builtin source holds its items here.',
  endpoints: knowledgeSources,
  exported: transfers.knowledge_source.exportOne,
  create: KnowledgeSourceCreate,
  update: KnowledgeSourceUpdate,
  columns: [column.status, text('Type', ({ source_type }) => source_type), column.description, column.tags, column.updated],
  overrides: { connection_config: { label: 'Connection (JSON)', placeholder: '' } },
  Panel: SourcePanel,
};

export const KNOWLEDGE_ITEMS: ResourceScreen = {
  title: 'Knowledge items',
  noun: 'item',
  about: 'Texts of a builtin source, cut into passages and found by words and by meaning.',
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
