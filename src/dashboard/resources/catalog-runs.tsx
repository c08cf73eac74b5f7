import { Budget } from '../../contracts/budgets.ts';
import { CallSettingFields } from '../../contracts/call-settings.ts';
import { DatasetCreate, DatasetUpdate, datasets } from '../../contracts/datasets.ts';
import { ScheduledAgentCreate, ScheduledAgentUpdate, scheduledAgents } from '../../contracts/scheduled-agents.ts';
import { transfers } from '../../contracts/transfer.ts';
import { WORKFLOW_STATUSES, WorkflowCreate, WorkflowUpdate, workflows } from '../../contracts/workflows.ts';
import { Status } from '../ui/show.tsx';
import { getOwnZone, When } from '../ui/time.tsx';
import { column, Named, reference, text } from './columns.tsx';
import { MODEL_SETTINGS } from './model-settings.ts';
import { recurrenceText, ScheduleActions, SchedulePreview, ScheduleState } from './panels/schedule-panel.tsx';
import type { EditableScreen } from './resource.ts';

export const WORKFLOWS: EditableScreen = {
  title: 'Workflows',
  noun: 'workflow',
  about: 'An agent with run settings. Send it a prompt and a durable run starts.',
  endpoints: workflows,
  exported: transfers.workflow.exportOne,
  create: WorkflowCreate,
  update: WorkflowUpdate,
  formatName: ({ title, id }) => title ?? `untitled (${String(id).slice(-6)})`,
  columns: [
    { label: 'Status', show: ({ status }) => <Status of={status} /> },
    { label: 'Agent', show: ({ agent_id }) => <Named kind="agent" slug="agents" id={agent_id} /> },
    text('Runs', ({ task_count }) => task_count),
    { label: 'Last run', show: ({ last_task_at }) => <When at={last_task_at} none="never" /> },
    { label: 'Changed', show: ({ updated_at }) => <When at={updated_at} /> },
  ],
  filters: [
    { name: 'status', label: 'Status', options: WORKFLOW_STATUSES },
    { name: 'agent_id', label: 'Agent', of: 'agent' },
  ],
  overrides: {
    agent_id: { control: 'reference', of: 'agent' },
    model: { control: 'model' },
    skill_ids: { control: 'references', of: 'skill' },
    guardrail_ids: { control: 'references', of: 'guardrail' },
    repo_token_name: { control: 'reference', of: 'token', label: 'Stored token for the repository', none: 'None' },
    repo_url: { label: 'Repository', placeholder: 'https://…' },
    repo_branch: { label: 'Branch' },
    // The URLs of some receivers are their credentials.
    webhook_url: {
      label: 'Webhook URL',
      description: 'Receives a message when a run completes.',
      placeholder: 'https://…',
      holds_secret: true,
    },
    error_webhook_url: {
      holds_secret: true,
      label: 'Error webhook URL',
      description: 'Receives a message when a run fails or is halted.',
      placeholder: 'https://…',
    },
    tsv_tool_results: {
      label: 'Tool results as tab-separated values',
      description: 'A list of records (TSV) takes fewer tokens than the same list as JSON.',
    },
    caveman: {
      label: 'Terse answers',
      description: '“Caveman”: the instructions are shortened, and the model answers in few words, to save tokens.',
    },
    // It takes names of stored tokens, but a secret is easily pasted here instead.
    credential_overrides: { label: 'Credential overrides (JSON)', holds_secret: true },
    ...MODEL_SETTINGS,
    output_schema: {
      label: 'Output schema (JSON Schema)',
      description: 'The answer has to be JSON that fits it. One that does not is sent back to the model once.',
    },
    budget: { control: 'nested', nested: () => Budget },
    on_busy: { label: 'If a run is in progress' },
    remember: { label: 'Earlier prompts' },
    on_inactive: { label: 'Waiting prompts when switched off' },
    // Only runs set the other values.
    status: {
      none: 'no change',
      label: 'Set status',
      options: ['active', 'inactive'],
      description: 'Inactive: new prompts are refused. Active: they are accepted again.',
    },
  },
  groups: [
    { title: 'Agent', fields: ['title', 'agent_id', 'model', 'status'] },
    {
      title: 'Run settings',
      folded: true,
      help: 'runs#settings',
      fields: [
        'output_format',
        'output_schema',
        'max_turns',
        'reasoning_effort',
        'remember',
        'on_busy',
        'on_inactive',
        'infinite_session',
        'tsv_tool_results',
        'caveman',
      ],
    },
    { title: 'Model calls', folded: true, help: 'runs#settings', fields: Object.keys(CallSettingFields) },
    {
      title: 'Limits of one exchange with the model',
      folded: true,
      help: 'runs#settings',
      fields: ['model_total_seconds', 'model_silence_seconds'],
    },
    {
      title: 'Skills and guardrails',
      folded: true,
      help: 'resources#guardrails',
      fields: ['skill_ids', 'skill_tags', 'guardrail_ids', 'guardrail_tags'],
    },
    { title: 'Memory', folded: true, help: 'resources#memories', fields: ['auto_memory', 'bypass_memory'] },
    { title: 'Repository', folded: true, help: 'runs#repository', fields: ['repo_url', 'repo_branch', 'repo_token_name'] },
    {
      title: 'Webhooks and credentials',
      folded: true,
      help: 'webhooks',
      fields: ['webhook_url', 'error_webhook_url', 'credential_overrides'],
    },
  ],
};

export const DATASETS: EditableScreen = {
  title: 'Datasets',
  noun: 'dataset',
  about: 'Prompts with their expected answers. Run a dataset against a version of a workflow to see how many answers are right.',
  endpoints: datasets,
  create: DatasetCreate,
  update: DatasetUpdate,
  columns: [column.description, text('Items', ({ item_count }) => item_count), column.updated],
  removes: 'with its items and evaluations',
};

export const SCHEDULES: EditableScreen = {
  title: 'Schedules',
  noun: 'schedule',
  about: 'A prompt that Perdura sends to a workflow at an interval or by a cron expression, in your name.',
  endpoints: scheduledAgents,
  exported: transfers.scheduled_agent.exportOne,
  create: ScheduledAgentCreate,
  update: ScheduledAgentUpdate,
  columns: [
    { label: 'State', show: (record) => <ScheduleState record={record} /> },
    reference('Workflow', 'workflow_id', { kind: 'workflow', slug: 'workflows' }),
    text('Repeats', recurrenceText),
    { label: 'Next run', show: ({ next_run_at }) => <When at={next_run_at} none="none" relative /> },
    { label: 'Last run', show: ({ last_run_at }) => <When at={last_run_at} none="never" /> },
  ],
  filters: [{ name: 'workflow_id', label: 'Workflow', of: 'workflow' }],
  overrides: {
    workflow_id: { control: 'reference', of: 'workflow' },
    prompt: { control: 'long' },
    interval_value: { label: 'Every', description: undefined },
    interval_unit: { label: 'Unit' },
    cron: { label: 'Cron expression', description: 'Minute, hour, day of month, month, day of week; or a name such as @daily.' },
    time_zone: {
      description: 'In which the expression is read.',
      control: 'suggested',
      options: Intl.supportedValuesOf('timeZone'),
      fallback: getOwnZone(),
    },
    jitter_seconds: { label: 'Jitter in seconds' },
    pause_after_failures: { label: 'Pause after failed runs', description: 'This many in a row. If empty: never.' },
    start_at: { control: 'time', description: 'The first run; by a cron expression, no run before it. If empty: now.' },
    end_at: { control: 'time', description: 'No run after this time.' },
    overlap_policy: {
      label: 'If the previous run is in progress',
      description: 'Skip the run, let it wait (“enqueue one”: unless another waits already), or halt the previous run.',
    },
    catchup_window_seconds: { label: 'Catch-up window in seconds' },
  },
  groups: [
    { title: 'Run', fields: ['name', 'workflow_id', 'prompt'] },
    {
      title: 'Due times',
      either: {
        label: 'Repeat',
        choices: { 'at an interval': ['interval_value', 'interval_unit'], 'by a cron expression': ['cron', 'time_zone'] },
      },
      fields: ['start_at', 'end_at', 'jitter_seconds'],
    },
    {
      title: 'Overlaps and failures',
      folded: true,
      help: 'scheduling#overlaps',
      fields: ['overlap_policy', 'catchup_window_seconds', 'pause_after_failures'],
    },
  ],
  Extra: SchedulePreview,
  Panel: ScheduleActions,
};
