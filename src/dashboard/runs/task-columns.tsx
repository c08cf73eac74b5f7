import { Anchor, Text } from '@mantine/core';
import { Link } from 'react-router';
import type { Task } from '../../contracts/tasks.ts';
import { countDecimals, formatDuration, formatNumber, formatRunCost } from '../ui/figures.ts';
import type { Column } from '../ui/list.tsx';
import { shortenPrompt } from '../ui/prompt.ts';
import { Status } from '../ui/show.tsx';
import { When } from '../ui/time.tsx';

export const taskColumns: Column<Task>[] = [
  {
    label: 'Status',
    card: 'lead',
    show: ({ status, error, error_code }) => (
      <>
        <Status of={status} />
        {error_code && (
          <Anchor
            component={Link}
            to={`/tasks?error_code=${error_code}`}
            size="xs"
            inherit={false}
            title={error ?? ''}
            className="nowrap"
            display="block"
            c="dimmed"
          >
            {error_code}
          </Anchor>
        )}
      </>
    ),
  },
  {
    label: 'Prompt',
    className: 'filling',
    card: 'title',
    show: ({ id, prompt }) => (
      <Anchor component={Link} to={`/tasks/${id}`} className="clip" dir="auto" title={prompt.slice(0, 500)}>
        {shortenPrompt(prompt, 200)}
      </Anchor>
    ),
  },
  {
    label: 'Workflow',
    card: 'line',
    show: ({ workflow_id, workflow_title, agent_name }) => (
      <>
        <Anchor component={Link} to={`/workflows/${workflow_id}`} className="clip clip-short" dir="auto">
          {workflow_title ?? agent_name}
        </Anchor>
        {workflow_title && (
          <Text size="xs" c="dimmed" className="clip clip-short" dir="auto">
            {agent_name}
          </Text>
        )}
      </>
    ),
  },
  {
    label: 'Model',
    className: 'spare',
    show: ({ model, trigger }) => (
      <>
        <span className="clip clip-short">{model ?? '—'}</span>
        {trigger !== 'prompt' && (
          <Text size="xs" c="dimmed">
            {trigger}
          </Text>
        )}
      </>
    ),
  },
  { label: 'Created', card: 'aside', show: ({ created_at }) => <When at={created_at} /> },
  {
    label: 'Took',
    figure: true,
    card: 'foot',
    show: ({ elapsed_seconds }) => formatDuration(elapsed_seconds === null ? null : elapsed_seconds * 1000),
  },
  { label: 'Turns', className: 'spare', figure: true, show: ({ turns }) => turns },
  {
    label: 'Tokens',
    className: 'spare-phone',
    figure: true,
    show: ({ usage }) => formatNumber(usage.total_in + usage.total_out),
  },
  {
    label: 'Cost',
    figure: true,
    card: 'foot',
    decimals: ({ usage }) => countDecimals(usage),
    show: ({ usage }, decimals) => formatRunCost(usage, decimals),
  },
];
