import { Anchor, Text } from '@mantine/core';
import { Link } from 'react-router';
import type { InboxItem } from '../../contracts/inbox.ts';
import type { Column } from '../ui/list.tsx';
import { shortenPrompt } from '../ui/prompt.ts';
import { Code, Status } from '../ui/show.tsx';
import { When } from '../ui/time.tsx';
import { Decide } from './decide.tsx';
import { KIND_NAMES, toReason } from './reasons.ts';

export const INBOX_COLUMNS: Column<InboxItem>[] = [
  {
    label: 'Waits for',
    card: 'line',
    className: 'wrapped',
    show: (item) => (
      <div>
        <Status of="waiting">{KIND_NAMES[item.kind]}</Status>
        <Text size="sm">{toReason(item)}</Text>
        {item.arguments !== null && (
          <div className="inbox-arguments">
            <Code label={`Arguments of ${item.tool}`}>{item.arguments}</Code>
            {item.arguments_cut && (
              <Text size="xs" c="dimmed">
                Only the beginning is shown: open the run to read all of it.
              </Text>
            )}
          </div>
        )}
      </div>
    ),
  },
  {
    label: 'Run',
    card: 'lead',
    show: ({ task_id, workflow_title, agent_name, prompt }) => (
      <div>
        <Anchor component={Link} to={`/tasks/${task_id}`} className="clip clip-short" dir="auto">
          {workflow_title ?? agent_name}
        </Anchor>
        <Text size="xs" c="dimmed" className="clip clip-short" dir="auto" title={prompt}>
          {shortenPrompt(prompt, 300)}
        </Text>
      </div>
    ),
  },
  { label: 'Waiting since', card: 'aside', show: ({ waiting_since }) => <When at={waiting_since} /> },
  { label: 'Decision', className: 'decision', card: 'line', is_obvious: true, show: (item) => <Decide item={item} /> },
];
