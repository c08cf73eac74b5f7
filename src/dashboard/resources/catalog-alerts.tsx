import { AlertChannel, AlertCreate, AlertUpdate, alerts } from '../../contracts/alerts.ts';
import { ALERT_MEASURES } from '../../domain/statuses.ts';
import { When } from '../ui/time.tsx';
import { Named, text } from './columns.tsx';
import type { Field } from './fields.ts';
import { AlertPanel, AlertStatus, formatMeasure } from './panels/alert-panel.tsx';
import type { EditableScreen } from './resource.ts';

const OF_RUNS = ALERT_MEASURES.filter((measure) => measure !== 'budget');

const whereMeasured = (measures: readonly string[], look: Partial<Field>): Partial<Field> => ({
  by: { field: 'measure', choices: Object.fromEntries(measures.map((measure) => [measure, look])) },
});

export const ALERTS: EditableScreen = {
  title: 'Alerts',
  noun: 'alert',
  about:
    'A rule about your runs, measured every minute. It sends messages when it fires and when it is resolved: webhooks, Slack, Teams, Discord, e-mail.',
  endpoints: alerts,
  create: AlertCreate,
  update: AlertUpdate,
  columns: [
    { label: 'State', show: (alert) => <AlertStatus alert={alert} /> },
    text('Measured', ({ measure, last_value }) => formatMeasure(measure, last_value)),
    text('Fires at', ({ measure, threshold }) => formatMeasure(measure, threshold)),
    {
      label: 'Watches',
      show: ({ workflow_id, budget_id }) => {
        if (budget_id) return <Named kind="budget" slug="budgets" id={budget_id} />;
        return workflow_id ? <Named kind="workflow" slug="workflows" id={workflow_id} /> : 'all workflows';
      },
    },
    { label: 'Since', show: ({ state_since }) => <When at={state_since} /> },
  ],
  overrides: {
    measure: {
      description:
        'Failure rate: percent of the ended runs that failed. Spend: US dollars. Waiting: minutes that a run has waited for a person. ' +
        'Provider errors: failed requests to models. Backlog: runs that wait for an earlier run of their workflow. ' +
        'Budget: percent of a budget that is spent in its present period.',
    },
    threshold: { label: 'Fires at' },
    window_minutes: {
      label: 'Window (minutes)',
      description: 'How far the failure rate, the spend and the provider errors look back; the others look at the present.',
    },
    min_runs: {
      label: 'Fewest runs for a failure rate',
      description: 'Until this many runs have ended in the window, the failure rate counts as 0.',
    },
    workflow_id: whereMeasured(OF_RUNS, { control: 'reference', of: 'workflow', none: 'All your workflows' }),
    budget_id: whereMeasured(['budget'], { control: 'reference', of: 'budget', required: true, nullable: false }),
    webhook_url: { label: 'Webhook URL', placeholder: 'https://…', holds_secret: true },
    channels: {
      label: 'Also send to',
      control: 'variants',
      variants: Object.fromEntries(AlertChannel.options.map((option) => [option.shape.type.value, option])),
      variant_overrides: { url: { label: 'URL', holds_secret: true } },
      can_be_empty: true,
    },
    muted_until: { control: 'time' },
  },
  Panel: AlertPanel,
};
