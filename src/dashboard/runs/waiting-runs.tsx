import { ActionIcon, Group, Text } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { ChevronLeft, ChevronRight } from 'lucide-react';
import { useNavigate } from 'react-router';
import { inbox } from '../../contracts/inbox.ts';
import { useRead } from '../api/queries.ts';
import { NEXT_WAITING_KEY, PREVIOUS_WAITING_KEY } from '../shell/keys.ts';
import { formatNumber } from '../ui/figures.ts';
import { findNeighbours } from './neighbours.ts';

/** Further waiting runs are reached after these. */
const MOST = 200;

/** Leads from a run to the previous and the next one that waits for a decision, by keys too; nothing if no other run waits. */
export function WaitingRuns({ task_id }: { task_id: string }) {
  const navigate = useNavigate();
  const { data } = useRead(inbox.list, { query: { limit: MOST } });
  const ids = [...new Set(data?.items.map((item) => item.task_id))];
  const { at, previous, next } = findNeighbours(ids, task_id);
  const go = (id: string | undefined) => {
    if (id && !document.querySelector('[role="dialog"]')) void navigate(`/tasks/${id}`);
  };
  useHotkeys([
    [NEXT_WAITING_KEY, () => go(next)],
    [PREVIOUS_WAITING_KEY, () => go(previous)],
  ]);
  if (!next && !previous) return null;
  const count = formatNumber(ids.length);
  return (
    <Group gap={4} wrap="nowrap" className="waiting-runs" role="group" aria-label="Waiting runs">
      <Text size="xs" c="dimmed">
        {at === -1 ? `${count} waiting` : `${formatNumber(at + 1)} of ${count} waiting`}
      </Text>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label="Previous waiting run"
        title="Previous waiting run (K)"
        disabled={!previous}
        onClick={() => go(previous)}
      >
        <ChevronLeft size={16} aria-hidden />
      </ActionIcon>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label="Next waiting run"
        title="Next waiting run (J)"
        disabled={!next}
        onClick={() => go(next)}
      >
        <ChevronRight size={16} aria-hidden />
      </ActionIcon>
    </Group>
  );
}
