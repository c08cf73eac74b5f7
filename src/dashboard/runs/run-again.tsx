import type { Task } from '../../contracts/tasks.ts';
import { workflows } from '../../contracts/workflows.ts';
import { useRead } from '../api/queries.ts';
import { Loaded } from '../ui/states.tsx';
import { PromptForm } from '../workflows/prompt-form.tsx';

interface ChangedProps {
  task: Task;
  onSent(task_id: string): void;
}

/** Sends a run's prompt, with its files, to the current version of its workflow again, after changes. */
export function RunWithChanges({ task, onSent: sent }: ChangedProps) {
  const workflow = useRead(workflows.get, { params: { id: task.workflow_id } });
  return (
    <Loaded query={workflow} what="Loading the workflow">
      {(data) => (
        <PromptForm
          workflow={data}
          initial={task.prompt}
          files={task.attachments}
          label="Run"
          place={`again:${task.id}`}
          onSent={sent}
        />
      )}
    </Loaded>
  );
}
