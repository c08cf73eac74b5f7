import {
  Autocomplete,
  Checkbox,
  Fieldset,
  NativeSelect,
  NumberInput,
  PasswordInput,
  Stack,
  Switch,
  TagsInput,
  Textarea,
  TextInput,
} from '@mantine/core';
import { agents } from '../../contracts/agents.ts';
import { models } from '../../contracts/models.ts';
import { useRead } from '../api/queries.ts';
import { zoneOf } from '../ui/format.ts';
import { type Field, nestedFields, type Values } from './fields.ts';
import { MultiPicker, Picker } from './pickers.tsx';
import { type FieldFault, fieldFault, toControls } from './values.ts';

interface ControlProps {
  field: Field;
  /** All values of the form, or of the nested group that contains the field. */
  values: Values;
  path: string;
  faults: readonly FieldFault[];
  disabled?: boolean;
  onChange(value: unknown): void;
}

export function FieldControl(props: ControlProps) {
  switch (props.field.control) {
    case 'nested':
      return <Nested {...props} />;
    case 'reference':
      return <Reference {...props} />;
    case 'references':
      return <References {...props} />;
    case 'model':
      return <ModelName {...props} />;
    default:
      return <Plain {...props} />;
  }
}

function shared({ field, path, faults, disabled }: ControlProps) {
  return {
    name: path,
    label: field.label,
    description: field.description,
    placeholder: field.placeholder ?? '',
    withAsterisk: field.required,
    error: fieldFault(faults, path),
    disabled: disabled ?? false,
  };
}

const MONO = { input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: '0.78rem' } };

function Plain(props: ControlProps) {
  const { field, values, onChange } = props;
  const value = values[field.name];
  const common = shared(props);
  const text = (value ?? '') as string;
  const typed = (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value);
  switch (field.control) {
    case 'switch': {
      const { withAsterisk: _, placeholder: __, ...rest } = common;
      return <Switch {...rest} checked={value === true} onChange={(event) => onChange(event.currentTarget.checked)} />;
    }
    case 'number':
      return <NumberInput {...common} {...bounds(field)} value={(value ?? '') as number} onChange={onChange} />;
    case 'choice':
      return <NativeSelect {...common} value={text} onChange={typed} data={choicesOf(field)} />;
    case 'tags':
      return <TagsInput {...common} value={(value ?? []) as string[]} onChange={onChange} acceptValueOnBlur clearable />;
    case 'secret':
      return (
        <PasswordInput
          {...common}
          aria-invalid={common.error !== undefined}
          value={text}
          onChange={typed}
          autoComplete="new-password"
        />
      );
    case 'time':
      return <TextInput {...common} {...localTime(field)} type="datetime-local" step={1} value={text} onChange={typed} />;
    case 'long':
      return <Textarea {...common} autosize minRows={3} maxRows={24} value={text} onChange={typed} />;
    case 'code':
      return (
        <Textarea {...common} autosize minRows={12} maxRows={36} value={text} onChange={typed} styles={MONO} spellCheck={false} />
      );
    case 'json':
      return (
        <Textarea {...common} autosize minRows={2} maxRows={24} value={text} onChange={typed} styles={MONO} spellCheck={false} />
      );
    default:
      return <TextInput {...common} value={text} onChange={typed} />;
  }
}

const localTime = ({ description }: Field) => ({
  description: [description, `In your time zone, ${zoneOf(new Date())}.`].filter(Boolean).join(' '),
});

const bounds = ({ min, max }: Field) => ({ ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) });

const choicesOf = ({ nullable, required, none, fallback, options = [] }: Field) => [
  ...(nullable || (required && fallback === undefined) || fallback === undefined ? [{ value: '', label: none ?? '—' }] : []),
  ...options.map((option) => ({ value: option, label: option.replaceAll('_', ' ') })),
];

function Reference(props: ControlProps) {
  const { field, values, onChange } = props;
  return (
    <Picker
      {...shared(props)}
      kind={field.of!}
      placeholder={field.none ?? ''}
      value={(values[field.name] || null) as string | null}
      onChange={onChange}
      clearable={!field.required}
    />
  );
}

function References(props: ControlProps) {
  const { field, values, onChange } = props;
  return <MultiPicker {...shared(props)} kind={field.of!} value={(values[field.name] ?? []) as string[]} onChange={onChange} />;
}

/** The name of a model, with suggestions from the agent's provider. */
function ModelName(props: ControlProps) {
  const { field, values, onChange } = props;
  const agent_id = (values.agent_id || null) as string | null;
  const agent = useRead(agents.get, { params: { id: agent_id ?? '' } }, { enabled: agent_id !== null });
  const provider_id = (agent_id ? agent.data?.provider_id : values.provider_id) || undefined;
  const query = { ...(provider_id ? { provider_id: provider_id as string } : {}) };
  const list = useRead(models.list, { query }, { enabled: agent_id === null || agent.data !== undefined });
  const names = [...new Set((list.data ?? []).map(({ id }) => id))];
  const common = shared(props);
  const description = list.error ? `Could not list the models: ${list.error.message}` : common.description;
  return (
    <Autocomplete
      {...common}
      description={description}
      placeholder="Default"
      data={names}
      value={(values[field.name] ?? '') as string}
      onChange={onChange}
    />
  );
}

/** Fields nested in a field, such as a budget. A nullable one has a switch that shows them. */
function Nested({ field, values, path, faults, disabled, onChange }: ControlProps) {
  const fields = nestedFields(field, values);
  if (!fields) return null;
  const held = values[field.name] as Values | null;
  const inner = held ?? (field.nullable ? null : toControls(fields, null));
  return (
    <Fieldset legend={field.label} disabled={disabled ?? false}>
      <Stack gap="sm">
        {field.nullable && (
          <Checkbox
            label={`Set a ${field.label.toLowerCase()}`}
            checked={inner !== null}
            onChange={(event) => onChange(event.currentTarget.checked ? toControls(fields, null) : null)}
          />
        )}
        {inner &&
          fields.map((child) => (
            <FieldControl
              key={child.name}
              field={child}
              values={inner}
              path={`${path}.${child.name}`}
              faults={faults}
              onChange={(value) => onChange({ ...inner, [child.name]: value })}
            />
          ))}
      </Stack>
    </Fieldset>
  );
}
