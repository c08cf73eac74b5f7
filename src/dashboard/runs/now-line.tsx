import { Group, Switch, Text } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import type { Task } from '../../contracts/tasks.ts';
import { isTerminal } from '../../domain/statuses.ts';
import { useNow } from '../ui/clock.ts';
import { formatCount, formatDuration } from '../ui/figures.ts';
import { Status } from '../ui/show.tsx';
import { HaltRun } from './halt-run.tsx';
import type { RunActivity } from './run-now.ts';
import type { LiveRun } from './run-state.ts';

const MOST_SHOWN = 3;

const WORDS: Record<RunActivity['kind'], (name: string) => string> = {
  model: (name) => `the model answers (${name})`,
  tool: (name) => `the tool ${name} runs`,
  retry: (name) => `it waits to try again: ${name}`,
  wait: (name) => `it waits for ${name}`,
};

/** The state that has the icon of an activity. */
export const findActivityState = ({ kind }: Pick<RunActivity, 'kind'>) =>
  kind === 'wait' || kind === 'retry' ? 'waiting' : 'running';

/** Says what a run is doing, in a few words. */
export const describeActivity = ({ kind, name }: Pick<RunActivity, 'kind' | 'name'>): string => WORDS[kind](name);

/** What a run is doing, and for how long; nothing once it has ended. It stays in sight while the page scrolls, with *Halt*. */
export function NowLine({ task, run, status }: { task: Task; run: LiveRun; status: string }) {
  const now = useNow(!isTerminal(status));
  const [follows, setFollows] = useFollowing(run, !isTerminal(status));
  if (isTerminal(status)) return null;
  const visible = run.doing.slice(-MOST_SHOWN);
  const more = run.doing.length - visible.length;
  return (
    <Group className="now-line" justify="space-between" gap="xs" component="section" aria-label="Now">
      <div>
        {visible.length === 0 && (
          <Status of={status}>{status === 'pending' ? 'Now: it is queued' : `Now: it is ${status}`}</Status>
        )}
        {visible.map((activity) => (
          <div key={activity.key}>
            <Status of={findActivityState(activity)}>
              Now: step {activity.step}, {describeActivity(activity)},{' '}
              {formatDuration(Math.max(0, now - Date.parse(activity.since)))}
            </Status>
          </div>
        ))}
        {more > 0 && <Text c="dimmed">and {formatCount(more, 'more call')}</Text>}
      </div>
      <Group gap="md" className="now-controls">
        <Switch
          size="xs"
          label="Follow the end"
          checked={follows}
          onChange={(event) => setFollows(event.currentTarget.checked)}
        />
        <HaltRun task={task} />
      </Group>
    </Group>
  );
}

const UPWARDS = ['ArrowUp', 'PageUp', 'Home'];

/** Keeps the end of the page in sight while the run adds to it, until the reader scrolls up. */
function useFollowing({ blocks, partial, logs }: LiveRun, live: boolean) {
  const [follows, setFollows] = useState(false);
  const active = follows && live;
  // biome-ignore lint/correctness/useExhaustiveDependencies: each of them makes the page longer
  useEffect(() => {
    if (active) window.scrollTo({ top: document.documentElement.scrollHeight });
  }, [active, blocks.length, partial, logs.length]);
  const touched = useRef(0);
  useEffect(() => {
    if (!active) return;
    const unmount = new AbortController();
    const { signal } = unmount;
    const stop = () => setFollows(false);
    window.addEventListener('wheel', ({ deltaY }) => deltaY < 0 && stop(), { signal, passive: true });
    window.addEventListener('keydown', ({ key }) => UPWARDS.includes(key) && stop(), { signal });
    const begin = ({ touches }: TouchEvent) => {
      touched.current = touches[0]!.clientY;
    };
    const move = ({ touches }: TouchEvent) => touches[0]!.clientY > touched.current && stop();
    window.addEventListener('touchstart', begin, { signal, passive: true });
    window.addEventListener('touchmove', move, { signal, passive: true });
    return () => unmount.abort();
  }, [active]);
  return [follows, setFollows] as const;
}
