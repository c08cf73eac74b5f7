import { Alert, Group, Stack, Switch, Text } from '@mantine/core';
import { useState } from 'react';
import { runInspection, type StepRequest } from '../../contracts/run-inspection.ts';
import { useRead } from '../api/queries.ts';
import { formatCount, formatNumber } from '../ui/figures.ts';
import { FormLink } from '../ui/form-link.tsx';
import { Code, Facts, Status } from '../ui/show.tsx';
import { Loaded } from '../ui/states.tsx';
import { type RequestDiff, requestDiff } from './request-diff.ts';

export type RequestMessage = StepRequest['messages'][number];

/** Shows the whole request of a step, and what is new in it since the previous step. */
export function RequestView({ task_id, step }: { task_id: string; step: number }) {
  const toInput = (at: number) => ({ params: { id: task_id, step: String(at) } });
  const request = useRead(runInspection.request, toInput(step));
  const before = useRead(runInspection.request, toInput(step - 1), { enabled: step > 1 });
  return (
    <Loaded query={request} what="Loading the request">
      {(data) =>
        step === 1 ? (
          <Request task_id={task_id} request={data} before={null} />
        ) : (
          <Loaded query={before} what="Loading the step before">
            {(earlier_request) => <Request task_id={task_id} request={data} before={earlier_request} />}
          </Loaded>
        )
      }
    </Loaded>
  );
}

interface RequestProps {
  task_id: string;
  request: StepRequest;
  before: StepRequest | null;
}

function Request({ task_id, request, before }: RequestProps) {
  const [onlyNew, setOnlyNew] = useState(false);
  const diff = requestDiff(before, request);
  const visible = diff.messages.filter(({ is_new }) => is_new || !onlyNew);
  const { model, not_rebuilt, messages, tools, skills, parameters } = request;
  return (
    <Stack gap="sm">
      <Group>
        <FormLink to={`/tasks/${task_id}/playground?step=${request.step}`} needs="run" variant="default">
          Open in playground
        </FormLink>
      </Group>
      {not_rebuilt.length > 0 && (
        <Alert color="yellow" variant="outline" title="This may differ from what was sent">
          {not_rebuilt.map((sentence) => (
            <Text key={sentence}>{sentence}</Text>
          ))}
        </Alert>
      )}
      <Facts
        of={{ Model: model ?? 'default', Messages: formatNumber(messages.length), Tools: tools.length, Skills: skills.length }}
      />
      {before && <Changes diff={diff} before={before.step} />}
      {before && (
        <Switch
          label={`Only messages that are new since step ${before.step}`}
          checked={onlyNew}
          onChange={(event) => setOnlyNew(event.currentTarget.checked)}
        />
      )}
      <details>
        <summary>System prompt</summary>
        <Code label="System prompt">{request.instructions}</Code>
      </details>
      <Tools tools={tools} />
      <details>
        <summary>Parameters</summary>
        <Code label="Parameters">{parameters}</Code>
      </details>
      <ol className="messages" aria-label="Messages">
        {visible.map(({ message, is_new }) => (
          <MessageView key={`${message.step}/${message.position}`} message={message} is_new={before !== null && is_new} />
        ))}
      </ol>
    </Stack>
  );
}

function Changes({ diff, before }: { diff: RequestDiff; before: number }) {
  const { messages, removed, added_tools, removed_tools, changed } = diff;
  const new_count = messages.filter(({ is_new }) => is_new).length;
  const tools = [...added_tools.map((name) => `+ ${name}`), ...removed_tools.map((name) => `− ${name}`)];
  return (
    <Stack gap={4}>
      <Text>
        Since step {before}: {formatCount(new_count, 'new message')}, {formatNumber(removed.length)} removed
        {tools.length > 0 && `, tools ${tools.join(', ')}`}
        {changed.length > 0 && `, another ${changed.join(' and ')}`}.
      </Text>
      {removed.length > 0 && (
        <details>
          <summary>Removed messages ({removed.length})</summary>
          <ol className="messages" aria-label="Removed messages">
            {removed.map((message) => (
              <MessageView key={`${message.step}/${message.position}`} message={message} is_new={false} />
            ))}
          </ol>
        </details>
      )}
    </Stack>
  );
}

function Tools({ tools }: Pick<StepRequest, 'tools'>) {
  if (tools.length === 0) return <Text c="dimmed">No tools were offered.</Text>;
  return (
    <details>
      <summary>{formatCount(tools.length, 'tool')}</summary>
      <Stack gap="xs">
        {tools.map(({ name, description, parameters }) => (
          <div key={name}>
            <strong className="mono">{name}</strong>
            <Text c="dimmed">{description}</Text>
            <Code label={`Parameters of ${name}`}>{parameters}</Code>
          </div>
        ))}
      </Stack>
    </details>
  );
}

const KINDS: Record<string, string> = {
  memories: 'memories',
  knowledge: 'knowledge passages',
  summary: 'summary of older messages',
};

/** Describes who wrote a message, and where it belongs. */
export const messageTitle = ({ role, kind, step, call_id }: RequestMessage) =>
  [`${role}, ${KINDS[kind] ?? kind}`, step > 0 && `step ${step}`, call_id && `call ${call_id}`].filter(Boolean).join(', ');

function MessageView({ message, is_new }: { message: RequestMessage; is_new: boolean }) {
  const { role, step, content, tool_calls, call_id } = message;
  return (
    <li data-new={is_new}>
      <div className="note">
        {messageTitle(message)}{' '}
        {is_new && (
          <Status of="new" tone="good">
            new
          </Status>
        )}
      </div>
      {content && <Code label={`${role} message, step ${step}${call_id ? `, call ${call_id}` : ''}`}>{content}</Code>}
      {tool_calls?.map((call) => (
        <Code key={call.call_id} label={`Call ${call.call_id} of ${call.name}`}>
          {`${call.name}(${call.arguments})`}
        </Code>
      ))}
    </li>
  );
}
