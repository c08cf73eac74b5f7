import { Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { Task } from '../../contracts/tasks.ts';
import type { MessageReceipt } from '../../contracts/thread-messages.ts';
import { isTerminal } from '../../domain/statuses.ts';
import { describeActivity, findActivityState } from '../runs/now-line.tsx';
import { Pauses } from '../runs/pauses.tsx';
import { FilePreviews } from '../runs/run-files.tsx';
import { type Block, emptyRun, type LiveRun } from '../runs/run-state.ts';
import { Todos } from '../runs/todos.tsx';
import { BlockView, Said } from '../runs/transcript.tsx';
import { useRun } from '../runs/use-run.ts';
import { Status } from '../ui/show.tsx';
import { Failure } from '../ui/states.tsx';
import { ReceiptLine } from './receipt.tsx';
import { TurnFoot } from './turn-foot.tsx';
import type { Composer } from './use-composer.ts';
import { useSeen } from './use-seen.ts';
import { UserMessage } from './user-message.tsx';
import type { TurnVersions } from './versions.tsx';

interface TurnProps {
  task: Task;
  versions: TurnVersions;
  /** The receipts of messages to this turn, its own among them. */
  receipts: readonly MessageReceipt[];
  /** True if it holds the lane of its thread, so that its run has started or is about to. */
  is_active: boolean;
  /** Takes a message that was not read back into the box. */
  edit: Composer['edit'];
}

/** One turn: what was said, and what its run did and answered. Its run is followed once the turn comes into sight. */
export function ThreadTurn(props: TurnProps) {
  const { task, versions, receipts, is_active, edit } = props;
  const [element, seen] = useSeen<HTMLElement>();
  const own_receipt = receipts.find(({ id }) => id === task.id);
  const waits_in_line = task.status === 'pending' && !is_active;
  return (
    <section ref={element} className="chat-turn" aria-label={`Turn ${task.thread_turn}`}>
      <UserMessage task={task} versions={versions} />
      {waits_in_line ? (
        <ReceiptLine of={own_receipt} task={task} edit={edit} />
      ) : seen ? (
        <FollowedTurn {...props} />
      ) : (
        <TurnBody {...props} run={toOutline(task)} status={task.status} />
      )}
    </section>
  );
}

function FollowedTurn(props: TurnProps) {
  const { task } = props;
  const { run, problem, connection } = useRun(task.workflow_id, task.id);
  const status = useStatus(task, run);
  const shown = run.blocks.length === 0 && !run.partial && isTerminal(status) ? toOutline(task) : run;
  return (
    <>
      <Failure problem={problem} />
      <TurnBody {...props} run={shown} status={status} />
      {connection === 'reconnecting' && <Text c="dimmed">Connection lost, reconnecting …</Text>}
    </>
  );
}

/** The stream is newer than the task that was read, so a change of status reads the task again. */
function useStatus(task: Task, run: LiveRun): string {
  const queries = useQueryClient();
  const has_ended = isTerminal(task.status);
  const is_stale = !has_ended && run.status !== null && run.status !== task.status;
  useEffect(() => {
    if (is_stale) void queries.invalidateQueries();
  }, [is_stale, queries]);
  return has_ended ? task.status : (run.status ?? task.status);
}

/** What is known of a run without its events. */
function toOutline({ response }: Task): LiveRun {
  if (response === null || response === undefined) return emptyRun;
  const text = typeof response === 'string' ? response : JSON.stringify(response);
  return { ...emptyRun, blocks: [{ kind: 'text', role: 'assistant', text }] };
}

interface BodyProps extends TurnProps {
  run: LiveRun;
  status: string;
}

function TurnBody({ task, run, status, versions, receipts, edit }: BodyProps) {
  const calls = run.blocks.filter((block) => block.kind === 'call');
  const live = !isTerminal(status);
  const read = new Set(run.blocks.map((block) => (block.kind === 'text' ? block.message_id : undefined)));
  const open = receipts.filter(({ id, state }) => id !== task.id && !read.has(id) && ['pending', 'refused'].includes(state));
  return (
    <>
      <Todos task_id={task.id} calls={calls} />
      {run.blocks.map((block, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: blocks are only appended
        <TurnBlock key={index} block={block} waits={status === 'waiting'} />
      ))}
      {run.partial && (
        <article className="cursor" aria-label="Reply in progress" aria-busy="true">
          <Said text={run.partial} />
        </article>
      )}
      <Pauses task={task} status={status} calls={calls} behind={run.behind} logs={run.logs} />
      {live && status !== 'waiting' && !run.partial && <Activity run={run} />}
      {open.map((receipt) => (
        <ReceiptLine key={receipt.id} of={receipt} edit={edit} />
      ))}
      <TurnFoot task={task} run={run} status={status} versions={versions} />
    </>
  );
}

/** The notes that a conversation shows in another way: with the versions of a turn, below it, or with a message. */
const NOT_SHOWN = ['forked', 'halted', 'message_refused', 'message_passed_on'];

function TurnBlock({ block, waits }: { block: Block; waits: boolean }) {
  if (block.kind === 'note' && NOT_SHOWN.includes(block.event)) return null;
  // The decision that it waits for has its name and arguments.
  if (block.kind === 'call' && waits && block.state.startsWith('waiting')) return null;
  if (block.kind === 'text' && block.role !== 'assistant')
    return (
      <div className="chat-said">
        <div className="bubble bubble-user" dir="auto">
          {block.text}
        </div>
        {block.step !== undefined && <span className="note">Read at step {block.step}</span>}
      </div>
    );
  return (
    <>
      <BlockView block={block} />
      {block.kind === 'call' && <FilePreviews files={block.files} />}
    </>
  );
}

/** What the turn does now. A call that runs is shown in its place. */
function Activity({ run: { doing, blocks } }: { run: LiveRun }) {
  if (blocks.some((block) => block.kind === 'call' && block.state === 'running')) return null;
  const last = doing.at(-1);
  const text = !last || last.kind === 'model' ? 'The model is thinking' : describeActivity(last);
  return (
    <Text c="dimmed">
      <Status of={last ? findActivityState(last) : 'running'}>{text} …</Status>
    </Text>
  );
}
