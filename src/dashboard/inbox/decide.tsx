import { Button, Group } from '@mantine/core';
import { Link } from 'react-router';
import type { InboxItem } from '../../contracts/inbox.ts';
import { tasks } from '../../contracts/tasks.ts';
import { useAct } from '../api/queries.ts';
import { QuestionForm } from '../runs/question-form.tsx';
import { DialogButton } from '../ui/dialog-button.tsx';
import { FailureBelow } from '../ui/states.tsx';

/** The buttons with which a decision is made in its row; what takes more than a click leads to the run. */
export function Decide({ item }: { item: InboxItem }) {
  if (item.kind === 'approval' && !item.arguments_cut) return <Approve item={item} />;
  if (item.kind === 'question')
    return (
      <DialogButton label="Answer" title="Answer the question" needs="run">
        <QuestionForm task_id={item.task_id} call_id={item.call_id!} name={item.tool!} question={item.question!} />
      </DialogButton>
    );
  return (
    <Button component={Link} to={`/tasks/${item.task_id}`} variant="default" data-needs="run">
      Decide
    </Button>
  );
}

function Approve({ item: { task_id, call_id, tool } }: { item: InboxItem }) {
  const decide = useAct(tasks.approve);
  const send = (decision: 'approve' | 'deny') =>
    decide.mutate({ params: { id: task_id, call_id: call_id! }, body: { decision } });
  const state = { loading: decide.isPending, disabled: decide.isSuccess, 'data-needs': decide.needs };
  return (
    <Group gap="xs">
      <Button {...state} aria-label={`Approve the call to ${tool}`} onClick={() => send('approve')}>
        Approve
      </Button>
      <Button {...state} variant="default" aria-label={`Deny the call to ${tool}`} onClick={() => send('deny')}>
        Deny
      </Button>
      <FailureBelow problem={decide.error} />
    </Group>
  );
}
