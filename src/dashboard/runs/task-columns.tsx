import { Anchor, Text } from '@mantine/core';
import { Link } from 'react-router';
import type { Task } from '../../contracts/tasks.ts';
import { formatCost, formatDuration, formatNumber } from '../ui/figures.ts';
import type { Column } from '../ui/list.tsx';
import { shortenPrompt } from '../ui/prompt.ts';
import { Status } from '../ui/show.tsx';
import { When } from '../ui/time.tsx';

export const taskColumns: Column<Task>[] = [
  {
    label: 'Status',
    show: ({ status, error, error_code }) => (
      <>
        <Status of={status} />
        {error_code && (
          <Anchor
            component={Link}
            to={`/tasks?error_code=${error_code}`}
            size="xs"
            title={error ?? ''}
            className="nowrap"
            display="block"
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
    show: ({ id, prompt }) => (
      <Anchor component={Link} to={`/tasks/${id}`} className="clip" title={prompt.slice(0, 500)}>
        {shortenPrompt(prompt, 200)}
      </Anchor>
    ),
  },
  {
    label: 'Workflow',
    show: ({ workflow_id, workflow_title, agent_name }) => (
      <>
        <Anchor component={Link} to={`/workflows/${workflow_id}`} className="clip clip-short">
          {workflow_title ?? agent_name}
        </Anchor>
        {workflow_title && (
          <Text size="xs" c="dimmed" className="clip clip-short">
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
  {
    label: 'Created',
    show: ({ created_at }) => (
      <span className="nowrap">
        <When at={created_at} />
      </span>
    ),
  },
  {
    label: 'Took',
    show: ({ elapsed_seconds }) => (
      <span className="nowrap">{formatDuration(elapsed_seconds === null ? null : elapsed_seconds * 1000)}</span>
    ),
  },
  { label: 'Turns', className: 'spare', show: ({ turns }) => turns },
  { label: 'Tokens', className: 'spare', show: ({ usage }) => formatNumber(usage.total_in + usage.total_out) },
  { label: 'Cost', show: ({ usage }) => formatCost(usage) },
];
