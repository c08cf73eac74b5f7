import { AlertCreate, AlertUpdate, alerts } from '../../contracts/alerts.ts';
import { When } from '../ui/time.tsx';
import { reference, text } from './columns.tsx';
import { AlertPanel, AlertStatus, formatMeasure } from './panels/alert-panel.tsx';
import type { EditableScreen } from './resource.ts';

export const ALERTS: EditableScreen = {
  title: 'Alerts',
  noun: 'alert',
  about: 'A rule about your runs, measured every minute. It sends a webhook when it fires and when it is resolved.',
  endpoints: alerts,
  create: AlertCreate,
  update: AlertUpdate,
  columns: [
    { label: 'State', show: (alert) => <AlertStatus alert={alert} /> },
    text('Measured', ({ measure, last_value }) => formatMeasure(measure, last_value)),
    text('Fires at', ({ measure, threshold }) => formatMeasure(measure, threshold)),
    reference('Workflow', 'workflow_id', { kind: 'workflow', slug: 'workflows', none: 'all' }),
    { label: 'Since', show: ({ state_since }) => <When at={state_since} /> },
  ],
  overrides: {
    threshold: { label: 'Fires at' },
    window_minutes: { label: 'Window (minutes)' },
    min_runs: { label: 'Fewest runs for a failure rate' },
    workflow_id: { control: 'reference', of: 'workflow', none: 'All your workflows' },
    webhook_url: { label: 'Webhook URL', placeholder: 'https://…' },
    muted_until: { control: 'time' },
  },
  Panel: AlertPanel,
};
