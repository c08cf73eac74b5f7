import { Anchor, Button, Group, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';
import { Link } from 'react-router';
import { type Task, tasks } from '../../contracts/tasks.ts';
import { useAct } from '../api/queries.ts';
import { parseJson } from '../ui/json.ts';
import { Code } from '../ui/show.tsx';
import { Failure } from '../ui/states.tsx';
import { useUnsaved } from '../ui/unsaved.tsx';
import { DECIDES, useDecisionKeys } from './decision-keys.ts';
import { QuestionForm } from './question-form.tsx';
import { RaiseBudget } from './raise-budget.tsx';
import type { CallBlock, LogLine } from './run-state.ts';

interface Paused {
  task: Task;
  call: CallBlock;
}

interface PausesOf {
  task: Task;
  status: string;
  calls: CallBlock[];
  behind: string | null;
  logs: readonly LogLine[];
}

/** The decisions that the run waits for. */
export function Pauses({ task, status, calls, behind, logs }: PausesOf) {
  useDecisionKeys();
  if (status !== 'waiting') return null;
  const open = calls.filter(({ state }) => state.startsWith('waiting'));
  return (
    <Stack gap="sm" aria-label="Waiting for you" component="section" className="pauses">
      {behind !== null && <Continuity task={task} missing={behind} />}
      {open.map((call) =>
        call.state === 'waiting_approval' ? (
          <Approval key={call.call_id} task={task} call={call} />
        ) : call.question ? (
          <QuestionForm
            key={call.question.id}
            task_id={task.id}
            call_id={call.call_id}
            name={call.name}
            question={call.question}
          />
        ) : (
          <Reconciliation key={call.call_id} task={task} call={call} />
        ),
      )}
      {open.length === 0 && behind === null && <BudgetPause task={task} last={findBudgetPause(logs)} />}
    </Stack>
  );
}

/** Returns the event that says which budget the run waits for, or which model has no price. */
const findBudgetPause = (logs: readonly LogLine[]): LogLine | undefined =>
  logs.findLast(({ event }) => event === 'budget_exhausted' || event === 'unpriced_model');

function BudgetPause({ task, last }: { task: Task; last: LogLine | undefined }) {
  if (last?.budget_id) return <SharedBudget id={last.budget_id} reason={last.detail} />;
  return <RaiseBudget task={task} unpriced={last?.event === 'unpriced_model' ? last.detail : null} />;
}

/** A budget above the run: the reason names it, and until when it is used up. */
function SharedBudget({ id, reason }: { id: string; reason: string }) {
  return (
    <Stack gap="xs" className="panel">
      <Text fw={600}>The run waits for a budget</Text>
      <Text>{reason}.</Text>
      <Text>
        The run continues automatically once it fits.{' '}
        <Anchor component={Link} to={`/budgets/${id}`}>
          Open the budget
        </Anchor>{' '}
        to see what is left, or to raise it.
      </Text>
    </Stack>
  );
}

function Continuity({ task, missing }: { task: Task; missing: string }) {
  const decide = useAct(tasks.continuity);
  const send = (decision: 'resume' | 'fail') => decide.mutate({ params: { id: task.id }, body: { decision } });
  return (
    <Stack gap="xs" className="panel">
      <Text fw={600}>The installation was restored. Resume this run from its record?</Text>
      <Text>
        The record of the run lacks {missing}. A resumed run repeats no recorded step and asks about each call that may already
        have taken effect.
      </Text>
      <Group gap="xs">
        <Button loading={decide.isPending} data-needs={decide.needs} onClick={() => send('resume')}>
          Resume the run
        </Button>
        <Button variant="default" loading={decide.isPending} data-needs={decide.needs} onClick={() => send('fail')}>
          Fail the run
        </Button>
      </Group>
      <Failure problem={decide.error} />
    </Stack>
  );
}

function Approval({ task, call }: Paused) {
  const decide = useAct(tasks.approve);
  const [message, setMessage] = useState('');
  useUnsaved(message.trim() !== '' && !decide.isPending && !decide.isSuccess);
  const send = (decision: 'approve' | 'deny') =>
    decide.mutate({ params: { id: task.id, call_id: call.call_id }, body: { decision, ...(message ? { message } : {}) } });
  return (
    <Stack gap="xs" className="panel">
      <Text fw={600}>
        Approve the call to <span className="mono">{call.name}</span>?
      </Text>
      <Code label={`Arguments of ${call.name}`}>{call.arguments}</Code>
      <TextInput
        label="Message to the model if you deny (optional)"
        value={message}
        onChange={(event) => setMessage(event.currentTarget.value)}
      />
      <Group gap="xs">
        <Button {...DECIDES.approve} loading={decide.isPending} data-needs={decide.needs} onClick={() => send('approve')}>
          Approve
        </Button>
        <Button
          {...DECIDES.deny}
          variant="default"
          loading={decide.isPending}
          data-needs={decide.needs}
          onClick={() => send('deny')}
        >
          Deny
        </Button>
      </Group>
      <Failure problem={decide.error} />
    </Stack>
  );
}

function Reconciliation({ task, call }: Paused) {
  const decide = useAct(tasks.reconcile);
  const [result, setResult] = useState('');
  useUnsaved(result.trim() !== '' && !decide.isPending && !decide.isSuccess);
  const by_client = call.state === 'waiting_client';
  const send = (decision: 'retry' | 'done' | 'fail') =>
    decide.mutate({
      params: { id: task.id, call_id: call.call_id },
      body: { decision, ...(decision === 'done' ? { result: parseResult(result) } : {}) },
    });
  return (
    <Stack gap="xs" className="panel">
      {by_client ? <ForTheClient name={call.name} /> : <TookEffect call={call} />}
      <Code label={`Arguments of ${call.name}`}>{call.arguments}</Code>
      <Textarea
        label="Result, if you mark it as done"
        description="JSON or text. The model receives it as the result of the call."
        autosize
        minRows={2}
        value={result}
        onChange={(event) => setResult(event.currentTarget.value)}
      />
      <Group gap="xs">
        <Button loading={decide.isPending} data-needs={decide.needs} onClick={() => send('done')}>
          Mark as done
        </Button>
        {!by_client && (
          <Button variant="default" loading={decide.isPending} data-needs={decide.needs} onClick={() => send('retry')}>
            Retry the call
          </Button>
        )}
        <Button variant="default" loading={decide.isPending} data-needs={decide.needs} onClick={() => send('fail')}>
          Mark as failed
        </Button>
      </Group>
      <Failure problem={decide.error} />
    </Stack>
  );
}

function TookEffect({ call: { name, restored, cause } }: { call: CallBlock }) {
  const tool = <span className="mono">{name}</span>;
  return (
    <>
      <Text fw={600}>
        {cause ? (
          <>
            {cause}. Did the call of {tool} take effect?
          </>
        ) : (
          <>
            {restored ? 'The installation was restored before ' : 'The worker was lost while '}
            {tool} {restored ? 'was called' : 'ran'}. Did the call take effect?
          </>
        )}
      </Text>
      <Text>The call may already have taken effect. Check what it was meant to change, then choose.</Text>
    </>
  );
}

function ForTheClient({ name }: { name: string }) {
  return (
    <>
      <Text fw={600}>
        The program that sent the prompt executes <span className="mono">{name}</span> and sends the result.
      </Text>
      <Text>If it never will, send the result in its place, or mark the call as failed.</Text>
    </>
  );
}

function parseResult(text: string): unknown {
  const read = parseJson(text);
  return 'wrong' in read ? text : read.value;
}
