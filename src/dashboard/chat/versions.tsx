import { ActionIcon } from '@mantine/core';
import { ChevronLeft, ChevronRight } from 'lucide-react';
import type { Task } from '../../contracts/tasks.ts';
import { threads } from '../../contracts/threads.ts';
import { useAct } from '../api/queries.ts';
import { FailureBelow } from '../ui/states.tsx';
import { findTip } from './branches.ts';

/** The versions of one turn: each edit and each other answer is one. */
export interface TurnVersions {
  thread_id: string;
  /** Oldest first. */
  of: readonly Task[];
  /** The turns of the thread that have been read. */
  all: readonly Task[];
  /** Called before another branch takes the place of this one. */
  onSwitch(): void;
  /** Why no other branch can be chosen now; null: one can. */
  refusal: string | null;
}

/** Leads to the other versions of a turn. Each comes with what was said after it. */
export function VersionSwitch({
  task,
  versions: { thread_id, of, all, onSwitch, refusal },
}: {
  task: Task;
  versions: TurnVersions;
}) {
  const change = useAct(threads.update);
  const at = of.findIndex(({ id }) => id === task.id);
  if (of.length < 2) return null;
  const leadTo = (other: Task) => {
    onSwitch();
    change.mutate({ params: { id: thread_id }, body: { head_task_id: findTip(all, other.id) } });
  };
  const arrow = (label: string, other: Task | undefined, Icon: typeof ChevronLeft) => (
    <ActionIcon
      variant="subtle"
      color="gray"
      size="sm"
      aria-label={label}
      title={refusal ?? label}
      disabled={!other || refusal !== null || change.isPending}
      onClick={() => leadTo(other!)}
    >
      <Icon size={14} aria-hidden />
    </ActionIcon>
  );
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms
    <span role="group" aria-label="Versions of this turn" className="chat-versions">
      {arrow('Previous version', of[at - 1], ChevronLeft)}
      <span>
        {at + 1}/{of.length}
      </span>
      {arrow('Next version', of[at + 1], ChevronRight)}
      <FailureBelow problem={change.error} />
    </span>
  );
}

/** True if the versions differ in what was said, not only in what was answered. */
export const areEdits = ({ of }: TurnVersions): boolean => of.some(({ prompt }) => prompt !== of[0]!.prompt);
