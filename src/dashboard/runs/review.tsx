import { Alert, Anchor, Button, Checkbox, Group, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import type { ApiProblem } from '../api/call.ts';
import { useWork } from '../api/queries.ts';
import { useLiveText } from '../ui/live.tsx';
import { shortenPrompt } from '../ui/prompt.ts';
import { Code, Status } from '../ui/show.tsx';
import { Empty, Failure, Loading } from '../ui/states.tsx';
import { When } from '../ui/time.tsx';
import { GuardedDialog } from '../ui/unsaved.tsx';
import { type BulkAction, type BulkLine, forEachConcurrent } from './bulk-work.ts';

/** The most requests in progress at once. */
const AT_A_TIME = 4;

type Words = Pick<BulkAction, 'label' | 'question' | 'done' | 'nothing' | 'is_danger'>;

interface ReviewButtonProps {
  action: Words;
  /** The number of runs or calls that the button is about. */
  count: number;
  read(): Promise<BulkLine[]>;
}

/** A button that shows what it is going to do, line by line, and then does the lines that were left ticked. */
export function ReviewButton({ action, count, read }: ReviewButtonProps) {
  const [opened, setOpened] = useState(false);
  const [busy, setBusy] = useState(false);
  const close = () => !busy && setOpened(false);
  // What is read when the dialog opens stays as it is: nothing is done that was not shown.
  const lines = useMutation<BulkLine[], ApiProblem>({ mutationFn: read });
  const open = () => {
    lines.mutate();
    setOpened(true);
  };
  return (
    <>
      <Button variant="default" disabled={count === 0} data-needs="run" onClick={open}>
        {`${action.label}${count > 0 ? ` ${count}` : ''} …`}
      </Button>
      <GuardedDialog opened={opened} onClose={close} title={action.question} size="lg">
        <Failure problem={lines.error} retry={() => lines.mutate()} />
        {lines.isPending && <Loading />}
        {lines.data && <Review action={action} lines={lines.data} close={close} busy={busy} setBusy={setBusy} />}
      </GuardedDialog>
    </>
  );
}

type Outcome = { error: string | null };

/** True if a person cannot see here what the call is going to do. */
const isCut = ({ call }: BulkLine): boolean => call?.arguments_cut ?? false;

interface ReviewProps {
  action: Words;
  lines: BulkLine[];
  close(): void;
  /** True while the action works: its results would be lost with the dialog. */
  busy: boolean;
  setBusy(busy: boolean): void;
}

export function Review({ action, lines, close, busy, setBusy }: ReviewProps) {
  const [left_out, setLeftOut] = useState<ReadonlySet<string>>(() => new Set(lines.filter(isCut).map(({ id }) => id)));
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, Outcome>>(new Map());
  const chosen = lines.filter(({ id }) => !left_out.has(id));
  // The result is shown as soon as it is known, not when the lists behind have been read again.
  const work = useWork(async () => {
    await forEachConcurrent(
      chosen.map((line) => ({ line, key: crypto.randomUUID() })),
      {
        at_a_time: AT_A_TIME,
        work: ({ line, key }) => line.act(key),
        onSettled: ({ line }, error) => setOutcomes((before) => new Map(before).set(line.id, { error: error?.message ?? null })),
      },
    );
    setBusy(false);
  });
  const is_done = !work.isIdle && !busy;
  const begin = () => {
    setBusy(true);
    work.mutate(undefined);
  };
  const failed = [...outcomes.values()].filter(({ error }) => error !== null).length;
  const summary = `${action.label}: ${chosen.length - failed} of ${chosen.length} done${failed > 0 ? `, ${failed} failed` : ''}`;
  useLiveText(is_done ? summary : '');
  if (lines.length === 0) return <Empty>{action.nothing}</Empty>;
  const toggle = (id: string) =>
    setLeftOut((before) => new Set(before.has(id) ? [...before].filter((other) => other !== id) : [...before, id]));
  return (
    <Stack>
      {is_done && (
        <Alert color={failed > 0 ? 'red' : 'green'} title={summary}>
          {failed > 0 && 'The reasons are below.'}
        </Alert>
      )}
      {lines.map((line) => (
        <Line
          key={line.id}
          line={line}
          done={action.done}
          is_chosen={!left_out.has(line.id)}
          {...(work.isIdle && !isCut(line) && { toggle: () => toggle(line.id) })}
          outcome={outcomes.get(line.id)}
        />
      ))}
      <Group justify="flex-end">
        <Button variant="default" disabled={busy} onClick={close}>
          {work.isIdle ? 'Cancel' : 'Close'}
        </Button>
        {!is_done && (
          <Button
            {...(action.is_danger && { color: 'red' })}
            loading={busy}
            data-needs="run"
            disabled={chosen.length === 0}
            onClick={begin}
          >
            {`${action.label} ${chosen.length}`}
          </Button>
        )}
      </Group>
    </Stack>
  );
}

interface LineProps {
  line: BulkLine;
  done: string;
  is_chosen: boolean;
  /** Absent once the action has begun, and for what cannot be read here. */
  toggle?: () => void;
  outcome: Outcome | undefined;
}

function Line({ line, done, is_chosen, toggle, outcome }: LineProps) {
  const { call, prompt, task_id, since } = line;
  const name = call ? `${call.tool} of ${line.title}` : line.title;
  return (
    <Stack gap={4} className="panel">
      <Group justify="space-between" gap="xs">
        <Checkbox label={name} checked={is_chosen} disabled={!toggle} onChange={toggle} />
        {outcome && (
          <Status of={done} tone={outcome.error === null ? 'good' : 'bad'}>
            {outcome.error ?? done}
          </Status>
        )}
      </Group>
      <Text size="sm">
        <Anchor component={Link} to={`/tasks/${task_id}`} size="sm" underline="always">
          {shortenPrompt(prompt, 120)}
        </Anchor>{' '}
        <Text span c="dimmed">
          {call ? 'waiting since' : 'from'} <When at={since} relative />
        </Text>
      </Text>
      {call && <Code label={`Arguments of ${call.tool}`}>{call.arguments}</Code>}
      {call?.arguments_cut && (
        <Text size="xs" c="dimmed">
          Only the beginning is shown: open the run to read all of it, and to approve the call.
        </Text>
      )}
    </Stack>
  );
}
