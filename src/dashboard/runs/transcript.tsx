import { Text } from '@mantine/core';
import { useState } from 'react';
import type { Task } from '../../contracts/tasks.ts';
import { showUnseen } from '../../domain/unseen.ts';
import { formatDuration } from '../ui/figures.ts';
import { parseJson } from '../ui/json.ts';
import { Markdown } from '../ui/markdown.tsx';
import { Code, Status } from '../ui/show.tsx';
import { Loading } from '../ui/states.tsx';
import { FilePreviews, RunFiles } from './run-files.tsx';
import type { Block, CallBlock } from './run-state.ts';
import type { Followed } from './use-run.ts';

/** The messages and tool calls in order, with the text being streamed at the end. */
export function Transcript({ task, followed: { run, connection } }: { task: Task; followed: Followed }) {
  const nothing = run.blocks.length === 0 && !run.partial;
  return (
    <div className="transcript" data-testid="transcript">
      <article className="turn-user" aria-label="Prompt">
        <Text size="xs" c="dimmed">
          Prompt
        </Text>
        <Written text={task.prompt} />
      </article>
      {nothing && connection === 'connecting' && <Loading what="Loading the conversation" />}
      {nothing && connection !== 'connecting' && (
        <Text c="dimmed">{NOTHING[run.status ?? task.status] ?? 'No output from the model yet.'}</Text>
      )}
      {withIndex(run.blocks).map(([key, block]) => (
        <BlockView key={key} block={block} />
      ))}
      {run.partial && (
        <article className="cursor" aria-label="Reply in progress" aria-busy="true" data-testid="partial">
          <Said text={run.partial} />
        </article>
      )}
    </div>
  );
}

const NOTHING: Record<string, string> = {
  pending: 'Queued. Another run of this workflow is in progress; this one starts after it.',
  running: 'The model is thinking …',
  failed: 'The run failed before the model replied.',
  halted: 'The run was halted before the model replied.',
};

/** Blocks are only appended, so their index is a stable key. */
const withIndex = (blocks: readonly Block[]) => blocks.map((block, index) => [index, block] as const);

/** The titles of notes whose event has a technical name. */
const TITLES: Record<string, string> = {
  approval_decided: 'approval',
  reconciliation_decided: 'outcome of a call',
  continuity_decided: 'after the restore',
  attempt_reset: 'starts again',
  record_behind: 'restored',
  mcp_error: 'MCP server',
  repo_synced: 'repository',
  unpriced_model: 'model without a price',
};

/** One message, tool call, note or thought of a run. */
export function BlockView({ block }: { block: Block }) {
  if (block.kind === 'call') return <Call call={block} />;
  if (block.kind === 'note')
    return (
      <div className="note">
        <strong>{TITLES[block.event] ?? block.event.replaceAll('_', ' ')}</strong> <bdi>{block.text}</bdi>
      </div>
    );
  if (block.kind === 'reasoning')
    return (
      <details className="call" data-testid="reasoning">
        <summary>Reasoning</summary>
        <Text className="as-written" dir="auto">
          {block.text}
        </Text>
      </details>
    );
  return (
    <article
      className={block.role === 'assistant' ? '' : 'turn-user'}
      aria-label={block.role === 'assistant' ? 'Reply' : block.role}
    >
      {block.role === 'assistant' ? <Said text={block.text} /> : <Written text={block.text} />}
    </article>
  );
}

/** What a person or a program sent. As Markdown, asterisks and line breaks would be lost. */
export function Written({ text }: { text: string }) {
  if (isJson(text)) return <Code label="JSON">{text}</Code>;
  return (
    <Text className="as-written" dir="auto">
      {text}
    </Text>
  );
}

/** What a model wrote: JSON formatted, and other text as Markdown. */
export function Said({ text }: { text: string }) {
  return isJson(text) ? <Code label="JSON">{text}</Code> : <Markdown>{text}</Markdown>;
}

const isJson = (text: string) => /^\s*[{[]/.test(text) && 'value' in parseJson(text);

function Call({ call }: { call: CallBlock }) {
  const status = call.state === 'done' ? (call.failed ? 'failed' : 'done') : call.state;
  const waits = call.state.startsWith('waiting');
  const [open, setOpen] = useState(waits);
  return (
    <details className="call" open={waits} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <Status of={status} />
        <strong className="mono">{call.name}</strong>
        <span className="args mono" dir="auto">
          {showUnseen(call.arguments)}
        </span>
        {call.duration_ms !== null && <span className="note">{formatDuration(call.duration_ms)}</span>}
        {call.progress && call.state === 'running' && <span className="note">{call.progress}</span>}
      </summary>
      <div>
        <Text size="xs">Arguments</Text>
        <Code label={`Arguments of ${call.name}`}>{call.arguments || '{}'}</Code>
        <Text size="xs">Result</Text>
        {call.result === null ? (
          <Text c="dimmed">No result yet.</Text>
        ) : (
          <Code label={`Result of ${call.name}`}>{call.result}</Code>
        )}
        {call.files.length > 0 && (
          <>
            <Text size="xs">Files</Text>
            <Text>
              <RunFiles files={call.files} />
            </Text>
            {open && <FilePreviews files={call.files} />}
          </>
        )}
        {call.stdout && (
          <>
            <Text size="xs">Standard output</Text>
            <Code label="Standard output">{call.stdout}</Code>
          </>
        )}
        {call.stderr && (
          <>
            <Text size="xs">Standard error</Text>
            <Code label="Standard error">{call.stderr}</Code>
          </>
        )}
      </div>
    </details>
  );
}
