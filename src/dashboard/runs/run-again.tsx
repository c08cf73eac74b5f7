import { Button } from '@mantine/core';
import { useNavigate } from 'react-router';
import type { Task } from '../../contracts/tasks.ts';
import { workflows } from '../../contracts/workflows.ts';
import { useAct, useRead } from '../api/queries.ts';
import { DialogButton } from '../ui/dialog-button.tsx';
import { FailureBelow, Loaded } from '../ui/states.tsx';
import { PromptForm } from '../workflows/prompt-form.tsx';
import { toPromptBody } from './resent.ts';

/** Sends a run's prompt, with its files, to the current version of its workflow again. */
export function RunAgain({ task }: { task: Task }) {
  const navigate = useNavigate();
  const send = useAct(workflows.prompt);
  const open = (task_id: string) => navigate(`/tasks/${task_id}`);
  const again = () =>
    send.mutate({ params: { id: task.workflow_id }, body: toPromptBody(task) }, { onSuccess: ({ task_id }) => open(task_id) });
  return (
    <>
      <Button variant="default" loading={send.isPending} data-needs={send.needs} onClick={again}>
        Run again
      </Button>
      <DialogButton label="Run again with changes" title="Run again with changes" size="lg" needs={send.needs}>
        <Changed task={task} onSent={open} />
      </DialogButton>
      <FailureBelow problem={send.error} />
    </>
  );
}

interface ChangedProps {
  task: Task;
  onSent(task_id: string): void;
}

function Changed({ task, onSent: sent }: ChangedProps) {
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
