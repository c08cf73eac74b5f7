import { type Task, tasks } from '../../contracts/tasks.ts';
import { useAct } from '../api/queries.ts';
import { Confirm } from '../ui/confirm.tsx';

/** Asks, then halts a run. */
export function HaltRun({ task }: { task: Task }) {
  const halt = useAct(tasks.stop);
  return (
    <Confirm
      label={halt.isSuccess ? 'Halting' : 'Halt'}
      title="Halt this run?"
      disabled={halt.isSuccess}
      needs={halt.needs}
      act={() => halt.mutateAsync({ params: { id: task.id } })}
      problem={halt.error}
      busy={halt.isPending}
    >
      It ends within seconds and keeps its text and its usage. A tool call in progress is stopped, and may have taken effect. A
      halted run cannot continue, but you can fork it.
    </Confirm>
  );
}
