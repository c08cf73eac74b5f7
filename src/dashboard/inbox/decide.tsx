import { Button, Group } from '@mantine/core';
import { Link } from 'react-router';
import type { InboxItem } from '../../contracts/inbox.ts';
import { tasks } from '../../contracts/tasks.ts';
import { useAct } from '../api/queries.ts';
import { QuestionForm } from '../runs/question-form.tsx';
import { DialogButton } from '../ui/dialog-button.tsx';
import { useLiveText } from '../ui/live.tsx';
import { FailureBelow } from '../ui/states.tsx';
import { nameItem } from './reasons.ts';

/** The buttons with which a decision is made in its row; what takes more than a click leads to the run. */
export function Decide({ item }: { item: InboxItem }) {
  if (item.kind === 'approval' && !item.arguments_cut) return <Approve item={item} />;
  if (item.kind === 'question')
    return (
      <DialogButton label="Answer" title="Answer the question" needs="run">
        <QuestionForm
          key={item.question!.id}
          task_id={item.task_id}
          call_id={item.call_id!}
          name={item.tool!}
          question={item.question!}
        />
      </DialogButton>
    );
  return (
    <Button component={Link} to={`/tasks/${item.task_id}`} variant="default" aria-label={`Open the run: ${nameItem(item)}`}>
      Open the run
    </Button>
  );
}

function Approve({ item }: { item: InboxItem }) {
  const { task_id, call_id } = item;
  const decide = useAct(tasks.approve);
  const send = (decision: 'approve' | 'deny') =>
    decide.mutate({ params: { id: task_id, call_id: call_id! }, body: { decision } });
  useLiveText(decide.isSuccess ? `Decided: ${nameItem(item)}` : '');
  const state = { loading: decide.isPending, disabled: decide.isSuccess, 'data-needs': decide.needs };
  return (
    <Group gap="xs">
      <Button {...state} aria-label={`Approve ${nameItem(item)}`} onClick={() => send('approve')}>
        Approve
      </Button>
      <Button {...state} variant="default" aria-label={`Deny ${nameItem(item)}`} onClick={() => send('deny')}>
        Deny
      </Button>
      <FailureBelow problem={decide.error} />
    </Group>
  );
}
