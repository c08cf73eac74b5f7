import { AgentCreate, AgentUpdate, agents } from '../../contracts/agents.ts';
import { GUARDRAIL_CONFIGS, GUARDRAIL_TYPES, GuardrailCreate, GuardrailUpdate, guardrails } from '../../contracts/guardrails.ts';
import { MEMORY_SCOPES, MemoryCreate, MemoryUpdate, memories } from '../../contracts/memories.ts';
import { SkillCreate, SkillUpdate, skills } from '../../contracts/skills.ts';
import { transfers } from '../../contracts/transfer.ts';
import { Status } from '../ui/show.tsx';
import { Clip, column, reference, text } from './columns.tsx';
import { FALLBACK_SETTINGS } from './model-settings.ts';
import { AgentPanel } from './panels/agent-panel.tsx';
import { GuardrailPanel } from './panels/guardrail-panel.tsx';
import { MemoryPanel } from './panels/memory-panel.tsx';
import type { EditableScreen } from './resource.ts';

export const AGENTS: EditableScreen = {
  title: 'Agents',
  noun: 'agent',
  about: 'A persona with a model, tools and knowledge. To run an agent, create a workflow for it.',
  endpoints: agents,
  exported: transfers.agent.exportOne,
  create: AgentCreate,
  update: AgentUpdate,
  columns: [
    column.description,
    text('Model', ({ model }) => model ?? 'default'),
    reference('Provider', 'provider_id', { kind: 'provider', slug: 'providers', none: 'default runtime' }),
    text('Tools', (agent) => agent.custom_tool_ids.length + agent.builtin_tools.length + agent.mcp_server_ids.length),
    column.updated,
  ],
  overrides: {
    system_prompt: { control: 'long' },
    provider_id: { control: 'reference', of: 'provider', none: 'Default runtime', description: undefined },
    model: { control: 'model' },
    mcp_server_ids: { control: 'references', of: 'mcp', label: 'MCP servers' },
    required_mcp_servers: { control: 'references', of: 'mcp', label: 'Required MCP servers' },
    custom_tool_ids: {
      control: 'references',
      of: 'custom_tool',
      label: 'Custom tools',
      description: 'The default runtime ignores them. Choose a provider to use them.',
    },
    builtin_tools: { label: 'Built-in tools', control: 'references', of: 'builtin_tool', description: undefined },
    knowledge_source_ids: { control: 'references', of: 'knowledge_source' },
    knowledge_tags: { description: 'Adds the sources with any of these tags.' },
    mcp_server_tags: { description: 'Adds the servers with any of these tags.', label: 'MCP server tags' },
    approval_tools: {
      control: 'guarded_tools',
      label: 'Tools that ask',
      description: 'Their calls wait for a person. A tool that is renamed still asks.',
    },
    approve_effects: {
      label: 'Effects that ask',
      description: 'Every call with one of these effects waits for a person, whatever the tool is called.',
    },
    ...FALLBACK_SETTINGS,
    tool_definitions: {
      label: 'Tool definitions (JSON)',
      description:
        'Functions for the model, in the shape of OpenAI or Anthropic, which Perdura does not execute. With a provider of type ' +
        'anthropic_messages also tools that Anthropic runs.',
    },
  },
  groups: [
    { title: 'Persona', fields: ['name', 'description', 'system_prompt', 'provider_id', 'model'] },
    { title: 'If the model fails', folded: true, help: 'runtimes#fallbacks', fields: ['fallbacks', 'fallback_minutes'] },
    {
      title: 'Tools',
      help: 'runs#which-tools-a-run-gets',
      fields: [
        'builtin_tools',
        'custom_tool_ids',
        'mcp_server_ids',
        'mcp_server_tags',
        'required_mcp_servers',
        'approval_tools',
        'approve_effects',
        'tool_definitions',
      ],
    },
    { title: 'Knowledge', folded: true, help: 'resources#knowledge', fields: ['knowledge_source_ids', 'knowledge_tags'] },
  ],
  Panel: AgentPanel,
};

export const SKILLS: EditableScreen = {
  title: 'Skills',
  noun: 'skill',
  about: 'Instructions that a workflow adds to those of its agent. Choose them by name or by tag.',
  endpoints: skills,
  exported: transfers.skill.exportOne,
  create: SkillCreate,
  update: SkillUpdate,
  columns: [column.description, column.tags, column.updated],
  overrides: { instructions: { control: 'long' } },
};

export const GUARDRAILS: EditableScreen = {
  title: 'Guardrails',
  noun: 'guardrail',
  about: 'Rules that check the prompt or the output of a run.',
  endpoints: guardrails,
  create: GuardrailCreate,
  update: GuardrailUpdate,
  columns: [
    text('Type', ({ guardrail_type }) => guardrail_type),
    { label: 'Enabled', show: ({ enabled }) => <Status of={enabled ? 'enabled' : 'off'} /> },
    column.description,
    column.tags,
    column.updated,
  ],
  filters: [{ name: 'guardrail_type', label: 'Type', options: GUARDRAIL_TYPES }],
  overrides: {
    guardrail_type: { fixed: true },
    config: {
      control: 'nested',
      label: 'Rules',
      nested: ({ guardrail_type }) => GUARDRAIL_CONFIGS[guardrail_type as keyof typeof GUARDRAIL_CONFIGS] ?? null,
    },
  },
  Panel: GuardrailPanel,
};

export const MEMORIES: EditableScreen = {
  title: 'Memories',
  noun: 'memory',
  about: 'Facts that agents keep between runs.',
  endpoints: memories,
  create: MemoryCreate,
  update: MemoryUpdate,
  formatName: ({ key }) => key,
  columns: [
    { label: 'Value', show: ({ value }) => <Clip>{value}</Clip> },
    text('Scope', ({ scope }) => scope),
    reference('Agent', 'agent_id', { kind: 'agent', slug: 'agents' }),
    column.updated,
  ],
  filters: [
    { name: 'agent_id', label: 'Agent', of: 'agent' },
    { name: 'scope', label: 'Scope', options: MEMORY_SCOPES },
  ],
  overrides: {
    agent_id: { control: 'reference', of: 'agent' },
    workflow_id: { control: 'reference', of: 'workflow', none: 'None' },
    value: { control: 'long' },
    metadata: { label: 'Metadata (JSON)' },
    ttl: { label: 'Expires' },
  },
  Panel: MemoryPanel,
};
