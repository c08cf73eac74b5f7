import { budgets, PeriodBudgetCreate, PeriodBudgetUpdate } from '../../contracts/budgets.ts';
import { getOwnZone } from '../ui/time.tsx';
import { budgetColumns } from './budget-columns.tsx';
import { BudgetPanel } from './panels/budget-panel.tsx';
import type { EditableScreen } from './resource.ts';

export const BUDGETS: EditableScreen = {
  title: 'Budgets',
  noun: 'budget',
  about:
    'Limits what is spent on models in a day, a week or a month. When it is used up, runs wait until the period ends or somebody raises it.',
  endpoints: budgets,
  create: PeriodBudgetCreate,
  update: PeriodBudgetUpdate,
  columns: budgetColumns as EditableScreen['columns'],
  overrides: {
    scope: { label: 'Limits', description: 'Only administrators limit an agent, the installation, or what belongs to others.' },
    subject_id: {
      description: undefined,
      by: {
        field: 'scope',
        choices: {
          person: { label: 'Person', description: 'The ID of a person, such as github:583231. If empty: you.' },
          service_key: { label: 'Service key', control: 'reference', of: 'service_key', required: true, nullable: false },
          agent: { label: 'Agent', control: 'reference', of: 'agent', required: true, nullable: false },
          workflow: { label: 'Workflow', control: 'reference', of: 'workflow', required: true, nullable: false },
          schedule: { label: 'Schedule', control: 'reference', of: 'schedule', required: true, nullable: false },
        },
      },
    },
    time_zone: {
      control: 'suggested',
      description: 'Its clock decides when a period begins.',
      options: Intl.supportedValuesOf('timeZone'),
      fallback: getOwnZone(),
    },
    limit_usd: { label: 'US dollars', description: undefined },
    limit_tokens: { label: 'Tokens' },
    warn_at: {
      label: 'Warn at',
      control: 'shares',
      description:
        'Percentages of the limit. From the first on, answers to prompts have a warning; runs report each in their log.',
    },
    on_exhausted: {
      label: 'When it is used up',
      description: 'Runs wait in both cases. “refuse” also refuses new prompts until the period ends.',
    },
  },
  groups: [
    { title: 'What it limits', fields: ['name', 'scope', 'subject_id', 'period', 'time_zone'] },
    {
      title: 'Limit',
      either: { label: 'Counted in', choices: { 'US dollars': ['limit_usd'], tokens: ['limit_tokens'] } },
      fields: ['warn_at', 'on_exhausted'],
    },
  ],
  readonly: ({ created_by }, caller) => {
    if (!caller) return null;
    if (caller.service_key_id) return 'A service key may read budgets, but not change them.';
    return caller.is_admin || created_by === caller.id
      ? null
      : 'An administrator has made this budget. Only administrators may change it.';
  },
  Panel: BudgetPanel,
};
