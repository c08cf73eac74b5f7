import { Button, Checkbox, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { questionAnswers } from '../../contracts/answers.ts';
import type { CallQuestion } from '../../contracts/questions.ts';
import { type AnswerValue, findChoices, listAnswerErrors, type QuestionField } from '../../domain/questions.ts';
import { showUnseen } from '../../domain/unseen.ts';
import { useAct } from '../api/queries.ts';
import { formatLocalTime } from '../ui/local-time.ts';
import { Failure } from '../ui/states.tsx';
import { When } from '../ui/time.tsx';
import { useUnsaved } from '../ui/unsaved.tsx';
import { DECIDES } from './decision-keys.ts';

interface QuestionFormProps {
  task_id: string;
  call_id: string;
  /** The name of the tool. */
  name: string;
  question: CallQuestion;
}

/** The contents of the fields: text as typed, a choice, or choices. */
type Typed = Record<string, string | boolean | string[]>;

/** Shows the form that an MCP server asks a person to fill in while its tool runs. */
export function QuestionForm({ task_id, call_id, name, question }: QuestionFormProps) {
  const { id: question_id, message, asked_by, schema, expires_at } = question;
  const answer = useAct(questionAnswers.give);
  const [initial] = useState(() => mapFields(schema.properties, getInitialValue));
  const [typed, setTyped] = useState<Typed>(initial);
  const [checked, setChecked] = useState(false);
  useUnsaved(typed !== initial && !answer.isPending && !answer.isSuccess);
  const content = toContent(schema.properties, typed);
  const faults = new Map(listAnswerErrors(schema, content).map((fault) => [fault.path, fault.message]));
  const send = (body: { action: 'accept'; content: Record<string, AnswerValue> } | { action: 'decline' | 'cancel' }) =>
    answer.mutate({ params: { id: task_id, call_id }, body: { question_id, ...body } });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setChecked(true);
    if (faults.size === 0) send({ action: 'accept', content });
  };
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="xs" className="panel">
        <Text fw={600}>
          <span className="mono">{name}</span> asks
        </Text>
        <Text size="sm">
          Asked by the MCP server <strong>{showUnseen(asked_by.server)}</strong> at{' '}
          <span className="mono">{asked_by.host ?? 'a command on a worker'}</span>
        </Text>
        <Text style={{ whiteSpace: 'pre-wrap' }} dir="auto">
          {showUnseen(message)}
        </Text>
        {Object.entries(schema.properties).map(([key, field]) => (
          <Field
            key={key}
            name={key}
            field={field}
            required={schema.required?.includes(key) ?? false}
            value={typed[key]!}
            change={(value) => setTyped({ ...typed, [key]: value })}
            error={checked ? faults.get(key) : undefined}
          />
        ))}
        <Text c="dimmed" size="sm">
          Your answer goes to this MCP server: type no password or access token. If nobody answers, the question is cancelled{' '}
          <When at={expires_at} relative />.
        </Text>
        <Group gap="xs">
          <Button {...DECIDES.approve} type="submit" loading={answer.isPending} data-needs={answer.needs}>
            Submit
          </Button>
          <Button
            {...DECIDES.deny}
            variant="default"
            loading={answer.isPending}
            data-needs={answer.needs}
            onClick={() => send({ action: 'decline' })}
          >
            Decline
          </Button>
          <Button
            variant="default"
            loading={answer.isPending}
            data-needs={answer.needs}
            onClick={() => send({ action: 'cancel' })}
          >
            Cancel
          </Button>
        </Group>
        <Failure problem={answer.error} />
      </Stack>
    </form>
  );
}

interface FieldProps {
  name: string;
  field: QuestionField;
  required: boolean;
  value: Typed[string];
  change(value: Typed[string]): void;
  error: string | undefined;
}

function Field({ name, field, required, value, change, error }: FieldProps) {
  const input_props = { label: field.title ?? name, description: field.description, error };
  const choices = findChoices(field);
  if (typeof value === 'boolean')
    return <Checkbox {...input_props} checked={value} onChange={(event) => change(event.currentTarget.checked)} />;
  if (Array.isArray(value))
    return (
      <Checkbox.Group {...input_props} withAsterisk={required} value={value} onChange={change}>
        <Group gap="sm" mt={4}>
          {choices?.map((choice) => (
            <Checkbox key={choice.value} value={choice.value} label={choice.label} />
          ))}
        </Group>
      </Checkbox.Group>
    );
  if (choices)
    return (
      <NativeSelect
        {...input_props}
        withAsterisk={required}
        value={value}
        onChange={(event) => change(event.currentTarget.value)}
        data={[{ value: '', label: '—' }, ...choices]}
      />
    );
  return (
    <TextInput
      {...input_props}
      withAsterisk={required}
      type={inputType(field)}
      value={value}
      onChange={(event) => change(event.currentTarget.value)}
    />
  );
}

const INPUT_TYPES = { email: 'email', uri: 'url', date: 'date', 'date-time': 'datetime-local' } as const;

function inputType(field: QuestionField): string {
  if (field.type === 'number' || field.type === 'integer') return 'number';
  return field.type === 'string' && field.format ? INPUT_TYPES[field.format] : 'text';
}

const mapFields = (properties: Record<string, QuestionField>, initial: (field: QuestionField) => Typed[string]): Typed =>
  Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, initial(field)]));

function getInitialValue(field: QuestionField): Typed[string] {
  if (field.type === 'boolean') return field.default ?? false;
  if (field.type === 'array') return field.default ?? [];
  if (field.type === 'string' && field.format === 'date-time') return field.default ? formatLocalTime(field.default) : '';
  return field.default === undefined ? '' : String(field.default);
}

/** Returns the values to send; empty fields are left out. */
function toContent(properties: Record<string, QuestionField>, typed: Typed): Record<string, AnswerValue> {
  const content: Record<string, AnswerValue> = {};
  for (const [name, field] of Object.entries(properties)) {
    const value = typed[name]!;
    if (value !== '' && !(Array.isArray(value) && value.length === 0)) content[name] = toAnswerValue(field, value);
  }
  return content;
}

function toAnswerValue(field: QuestionField, value: Typed[string]): AnswerValue {
  if (typeof value !== 'string') return value;
  if (field.type === 'number' || field.type === 'integer') return Number(value);
  const at = new Date(value);
  const is_time = field.type === 'string' && field.format === 'date-time' && !Number.isNaN(at.getTime());
  return is_time ? at.toISOString() : value;
}
