import { Group, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { z } from 'zod';
import { type Task, type TaskStep, tasks } from '../../contracts/tasks.ts';
import { useRead } from '../api/queries.ts';
import { count, counted, duration, money } from '../ui/format.ts';
import { Code, Facts, Status } from '../ui/show.tsx';
import { Empty, Loaded } from '../ui/states.tsx';
import { ForkButton } from './fork.tsx';

type Step = z.output<typeof TaskStep>;
type ToolCall = Step['tool_calls'][number];

/** The model calls and their tool calls on one time axis. */
export function Steps({ task, version }: { task: Task; version: number }) {
  const query = useRead(tasks.steps, { params: { id: task.id } });
  const queries = useQueryClient();
  // biome-ignore lint/correctness/useExhaustiveDependencies: each thing that is logged may have changed a step
  useEffect(() => {
    const timer = setTimeout(() => void queries.invalidateQueries({ queryKey: [tasks.steps.operation] }), 300);
    return () => clearTimeout(timer);
  }, [version, queries]);
  return (
    <Loaded query={query} what="Loading the steps">
      {(steps) =>
        steps.length === 0 ? (
          <Empty>No steps yet.</Empty>
        ) : (
          <ol className="timeline">
            {steps.map((step) => (
              <StepView key={step.step} step={step} task={task} scale={scaleOf(steps)} />
            ))}
          </ol>
        )
      }
    </Loaded>
  );
}

type Scale = (start: string | null, end: string | null) => { left: string; width: string };

function scaleOf(steps: Step[]): Scale {
  const own = steps.filter(({ copied }) => !copied);
  const ends = own.flatMap(({ ended_at, tool_calls }) => [ended_at, ...tool_calls.map((call) => call.ended_at)]);
  const from = Math.min(...own.map(({ started_at }) => Date.parse(started_at)));
  const to = Math.max(from + 1, ...ends.map((at) => (at ? Date.parse(at) : Date.now())));
  const part = (at: number) => Math.min(100, Math.max(0, ((at - from) / (to - from)) * 100));
  return (start, end) => {
    const left = part(start ? Date.parse(start) : from);
    return { left: `${left}%`, width: `${part(end ? Date.parse(end) : Date.now()) - left}%` };
  };
}

function StepView({ step, task, scale }: { step: Step; task: Task; scale: Scale }) {
  const state = step.ended_at ? (step.error && !step.finish ? 'failed' : 'completed') : 'running';
  return (
    <li className="panel">
      <Group justify="space-between">
        <Text fw={600}>
          <Status of={state}>Step {step.step}</Status> {step.copied && <span className="note">copied from the source run</span>}
        </Text>
        <ForkButton task={task} step={step.step} label={`Fork from step ${step.step}`} />
      </Group>
      {!step.copied && (
        <div className="bar-track" aria-hidden="true">
          <div className="bar" style={scale(step.started_at, step.ended_at)} />
        </div>
      )}
      <Facts
        of={{
          Duration: duration(step.duration_ms),
          Model: step.model ?? '—',
          Attempts: step.attempts,
          Tokens: `${count(step.usage.total_in)} in, ${count(step.usage.total_out)} out`,
          Cost: money(step.usage.cost),
          'Finish reason': step.finish ?? '—',
        }}
      />
      {step.error && <Text c="var(--mantine-color-error)">{step.error}</Text>}
      <Stack gap={6} mt={6}>
        <Exchanged step={step} />
        {step.tool_calls.map((call) => (
          <CallView key={call.call_id} call={call} scale={scale} copied={step.copied} />
        ))}
      </Stack>
    </li>
  );
}

function Exchanged({ step }: { step: Step }) {
  return (
    <>
      <details>
        <summary>Model input ({step.input.length})</summary>
        {step.input.map(({ role, kind, content }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the messages of a step do not move
          <div key={index}>
            <span className="note">
              {role}, {kind}
            </span>
            <Code label={`${role} message`}>{content}</Code>
          </div>
        ))}
      </details>
      {step.output && (
        <details>
          <summary>Model output</summary>
          <Code label="Output">{step.output}</Code>
        </details>
      )}
    </>
  );
}

function CallView({ call, scale, copied }: { call: ToolCall; scale: Scale; copied: boolean }) {
  return (
    <details className="call">
      <summary>
        <Status of={call.failed ? 'failed' : call.status} />
        <strong className="mono">{call.name}</strong>
        <span className="args mono">{call.arguments}</span>
        <span className="note">
          {call.effect}, {counted(call.attempts, 'attempt')}, {duration(call.duration_ms)}
          {call.answered_by && `, answered by ${call.answered_by}`}
          {call.decided_by && `, decided by ${call.decided_by}`}
        </span>
      </summary>
      <div>
        {!copied && call.started_at && (
          <div className="bar-track" aria-hidden="true">
            <div className="bar bar-tool" style={scale(call.started_at, call.ended_at)} />
          </div>
        )}
        <Code label={`Arguments of ${call.name}`}>{call.arguments}</Code>
        {call.result !== null && <Code label={`Result of ${call.name}`}>{call.result}</Code>}
        {call.stdout && <Code label="Standard output">{call.stdout}</Code>}
        {call.stderr && <Code label="Standard error">{call.stderr}</Code>}
      </div>
    </details>
  );
}
