import { Button, Group, Stack, Text, Title } from '@mantine/core';
import { type RunSpan, runInspection } from '../../contracts/run-inspection.ts';
import { type Task, type TaskStep, type ToolCallRecord, tasks } from '../../contracts/tasks.ts';
import { useRead } from '../api/queries.ts';
import { DialogButton } from '../ui/dialog-button.tsx';
import { formatDuration, formatTokens } from '../ui/figures.ts';
import { Code, Facts, Labelled, Status } from '../ui/show.tsx';
import { Loaded } from '../ui/states.tsx';
import { Moment } from '../ui/time.tsx';
import { ForkForm } from './fork.tsx';
import { RunCost } from './run-cost.tsx';
import { formatTitle, getDurationMs } from './span-scale.ts';
import { RequestView } from './step-request.tsx';

interface PanelProps {
  task: Task;
  span: RunSpan;
  now: number;
  close(): void;
}

/** The details of one row of the waterfall. */
export function SpanPanel({ task, span, now, close }: PanelProps) {
  const { id, step, kind, status, start, end, copied, detail } = span;
  return (
    <Stack gap="xs" className="panel span-panel" component="section" aria-label={`Details of ${formatTitle(span)}`}>
      <Group justify="space-between" wrap="nowrap">
        <Title order={2} style={{ overflowWrap: 'anywhere' }}>
          {formatTitle(span)}
        </Title>
        <Button variant="default" onClick={close}>
          Close
        </Button>
      </Group>
      <Facts
        of={{
          ...(kind !== 'retry' && { Status: <Status of={status} /> }),
          Duration: formatDuration(getDurationMs(span, now)),
          Start: start ? <Moment at={start} /> : 'not started',
          ...(end && { End: <Moment at={end} /> }),
        }}
      />
      {copied && <Text c="dimmed">Copied from the source run, with its times. It is not paid for again.</Text>}
      {detail && <Text c={kind === 'model' ? 'var(--mantine-color-error)' : 'dimmed'}>{detail}</Text>}
      {(kind === 'model' || kind === 'tool') && <Recorded task={task} step={step} call_id={kind === 'tool' ? id : null} />}
    </Stack>
  );
}

function Recorded({ task, step, call_id }: { task: Task; step: number; call_id: string | null }) {
  const query = useRead(runInspection.step, { params: { id: task.id, step: String(step) } });
  return (
    <Loaded query={query} what="Loading the step">
      {(recorded) => {
        const call = recorded.tool_calls.find((other) => other.call_id === call_id);
        return call ? <CallDetails call={call} /> : <ModelDetails task={task} recorded={recorded} />;
      }}
    </Loaded>
  );
}

function ModelDetails({ task, recorded }: { task: Task; recorded: TaskStep }) {
  const { step, model, provider_name, fallback, attempts, usage, finish, input, output } = recorded;
  return (
    <>
      <Facts
        of={{
          Model: model ?? '—',
          ...((provider_name || fallback > 0) && {
            Provider: `${provider_name ?? 'default runtime'}${fallback > 0 ? ` (fallback ${fallback})` : ''}`,
          }),
          Attempts: attempts,
          Tokens: formatTokens(usage),
          ...(usage.cost !== 0 && { Cost: <RunCost usage={usage} /> }),
          'Finish reason': finish ?? '—',
        }}
      />
      <Group gap="xs">
        <DialogButton label="What the model saw" title={`What the model saw at step ${step}`} size="xl">
          <RequestView task_id={task.id} step={step} />
        </DialogButton>
        <DialogButton label={`Fork from step ${step}`} title="Fork this run" needs={tasks.fork.access}>
          <ForkForm task={task} step={step} />
        </DialogButton>
      </Group>
      {output && (
        <Labelled label="Model output">
          <Code label="Output">{output}</Code>
        </Labelled>
      )}
      <details>
        <summary>New model input ({input.length})</summary>
        {input.map(({ role, kind, content }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the messages of a step do not move
          <Labelled key={index} label={`${role}, ${kind}`}>
            <Code label={`${role} message`}>{content}</Code>
          </Labelled>
        ))}
      </details>
    </>
  );
}

function CallDetails({ call }: { call: ToolCallRecord }) {
  const { name, effect, attempts, answered_by, decided_by, result, stdout, stderr } = call;
  return (
    <>
      <Facts
        of={{
          Effect: effect,
          Attempts: attempts,
          ...(answered_by && { 'Answered by': answered_by }),
          ...(decided_by && { 'Decided by': decided_by }),
        }}
      />
      <Labelled label="Arguments">
        <Code label={`Arguments of ${name}`}>{call.arguments || '{}'}</Code>
      </Labelled>
      {result === null ? (
        <Text c="dimmed">No result yet.</Text>
      ) : (
        <Labelled label="Result">
          <Code label={`Result of ${name}`}>{result}</Code>
        </Labelled>
      )}
      {stdout && (
        <Labelled label="Standard output">
          <Code label="Standard output">{stdout}</Code>
        </Labelled>
      )}
      {stderr && (
        <Labelled label="Standard error">
          <Code label="Standard error">{stderr}</Code>
        </Labelled>
      )}
    </>
  );
}
