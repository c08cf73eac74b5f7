import {
  Autocomplete,
  Button,
  Checkbox,
  Fieldset,
  Group,
  NativeSelect,
  NumberInput,
  PasswordInput,
  Stack,
  Switch,
  TagsInput,
  Textarea,
  TextInput,
} from '@mantine/core';
import { useEffect } from 'react';
import { versions } from '../../contracts/versions.ts';
import { useRead } from '../api/queries.ts';
import { formatZone } from '../ui/time.tsx';
import {
  emptyChoice,
  type Field,
  fieldChoices,
  listNestedFields,
  listVariantFields,
  type Values,
  variantAbout,
} from './fields.ts';
import { GuardedTools } from './guarded-tools.tsx';
import { ModelName } from './model-name.tsx';
import { MultiPicker, Picker } from './pickers.tsx';
import { type FieldFault, formatFieldFault, toControls, variantControls } from './values.ts';

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
    case 'guarded_tools':
      return <GuardedTools {...toSharedProps(props)} agent={props.values} onChange={props.onChange} />;
    case 'model':
      return (
        <ModelName
          {...toSharedProps(props)}
          form={props.values}
          value={props.values[props.field.name]}
          onChange={props.onChange}
        />
      );
    case 'variants':
      return <Variants {...props} />;
    case 'version':
      return <VersionChoice {...props} />;
    default:
      return <Plain {...props} />;
  }
}

function toSharedProps({ field, path, faults, disabled }: ControlProps) {
  return {
    name: path,
    label: field.label,
    description: field.description,
    placeholder: formatExample(field),
    withAsterisk: field.required,
    error: formatFieldFault(faults, path),
    disabled: disabled ?? false,
  };
}

/** An example, marked so that nobody takes it for a value. */
const formatExample = ({ placeholder, control }: Field) =>
  placeholder ? `Example:${control === 'code' ? '\n' : ' '}${placeholder}` : '';

const MOST_SUGGESTED = 20;
const MONO = { input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: '0.78rem' } };

function Plain(props: ControlProps) {
  const { field, values, onChange } = props;
  const value = values[field.name];
  const common = toSharedProps(props);
  const text = value as string;
  const changeText = (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value);
  switch (field.control) {
    case 'switch': {
      const { withAsterisk: _, placeholder: __, ...rest } = common;
      return <Switch {...rest} checked={value === true} onChange={(event) => onChange(event.currentTarget.checked)} />;
    }
    case 'number':
      return <NumberInput {...common} {...bounds(field)} value={value as number} onChange={onChange} />;
    case 'yes_no': {
      const data = [emptyChoice(field), 'yes', 'no'];
      const choice = Object.keys(YES_NO).find((name) => YES_NO[name] === value)!;
      return (
        <NativeSelect {...common} value={choice} onChange={(event) => onChange(YES_NO[event.currentTarget.value])} data={data} />
      );
    }
    case 'choice':
      return <NativeSelect {...common} value={text} onChange={changeText} data={fieldChoices(field)} />;
    case 'suggested':
      return <Autocomplete {...common} value={text} onChange={onChange} data={field.options!} limit={MOST_SUGGESTED} />;
    case 'tags':
    case 'shares':
      return (
        <TagsInput
          {...common}
          data={field.options ?? []}
          value={value as string[]}
          onChange={onChange}
          acceptValueOnBlur
          clearable
        />
      );
    case 'secret':
      return (
        <PasswordInput
          {...common}
          aria-invalid={common.error !== undefined}
          value={text}
          onChange={changeText}
          autoComplete="new-password"
        />
      );
    case 'time':
      return <TextInput {...common} {...localTime(field)} type="datetime-local" step={1} value={text} onChange={changeText} />;
    case 'long':
      return <Textarea {...common} autosize minRows={3} maxRows={24} value={text} onChange={changeText} />;
    case 'code':
    case 'json':
      return (
        <Textarea {...common} {...ROWS[field.control]} value={text} onChange={changeText} styles={MONO} spellCheck={false} />
      );
    default:
      return <TextInput {...common} value={text} onChange={changeText} />;
  }
}

const ROWS = { code: { autosize: true, minRows: 12, maxRows: 36 }, json: { autosize: true, minRows: 2, maxRows: 24 } };
const YES_NO: Record<string, boolean | null> = { '': null, yes: true, no: false };

const localTime = ({ description }: Field) => ({
  description: [description?.replace(/(?<![.!?])$/, '.'), `In your time zone, ${formatZone(new Date())}.`]
    .filter(Boolean)
    .join(' '),
});

const bounds = ({ min, max }: Field) => ({ ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) });

function Reference(props: ControlProps) {
  const { field, values, onChange } = props;
  return (
    <Picker
      {...toSharedProps(props)}
      kind={field.of!}
      placeholder={field.none ?? ''}
      value={(values[field.name] || null) as string | null}
      onChange={onChange}
      clearable={!field.required}
      allowDeselect={!field.required}
    />
  );
}

function References(props: ControlProps) {
  const { field, values, onChange } = props;
  return <MultiPicker {...toSharedProps(props)} kind={field.of!} value={values[field.name] as string[]} onChange={onChange} />;
}

const MOST_VERSIONS = 100;

/** Chooses a version, by its hash, of the workflow that the form names. */
function VersionChoice(props: ControlProps) {
  const { field, values, onChange } = props;
  const id = (values.workflow_id || null) as string | null;
  const input = { params: { id: id ?? '' }, query: { limit: MOST_VERSIONS } };
  const { data } = useRead(versions.list, input, { enabled: id !== null });
  const known_versions = id === null ? [] : data?.items;
  const value = values[field.name] as string;
  const is_foreign =
    value !== '' && known_versions !== undefined && !known_versions.some(({ definition_hash }) => definition_hash === value);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a version of another workflow cannot stay chosen
  useEffect(() => {
    if (is_foreign) onChange('');
  }, [is_foreign]);
  return (
    <NativeSelect
      {...toSharedProps(props)}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      data={[
        emptyChoice(field),
        ...(known_versions ?? []).map(({ definition_hash, number, current }) => ({
          value: definition_hash,
          label: `version ${number}${current ? ', current' : ''}`,
        })),
      ]}
    />
  );
}

/** Edits a list of entries, each with its fields: those of its type, if there are several types. */
function Variants({ field, values, path, faults, onChange }: ControlProps) {
  const entries = values[field.name] as Values[];
  const types = Object.keys(field.variants ?? {});
  const replaceEntry = (at: number, entry: Values) => onChange(entries.with(at, entry));
  return (
    <Fieldset legend={field.label}>
      <Stack gap="sm">
        {entries.map((entry, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: nothing else identifies an entry
          <Fieldset key={at} legend={`${at + 1}`}>
            <Stack gap="sm">
              {types.length > 0 && (
                <NativeSelect
                  label="Type"
                  description={variantAbout(field, entry.type)}
                  value={entry.type as string}
                  onChange={(event) => replaceEntry(at, variantControls(field, { type: event.currentTarget.value }))}
                  data={types.map((type) => ({ value: type, label: type.replaceAll('_', ' ') }))}
                />
              )}
              {listVariantFields(field, entry.type).map((child) => (
                <FieldControl
                  key={child.name}
                  field={child}
                  values={entry}
                  path={`${path}.${at}.${child.name}`}
                  faults={faults}
                  onChange={(value) => replaceEntry(at, { ...entry, [child.name]: value })}
                />
              ))}
              {(entries.length > 1 || field.entry || field.can_be_empty) && (
                <Group>
                  <Button variant="default" onClick={() => onChange(entries.toSpliced(at, 1))}>
                    {`Remove ${at + 1}`}
                  </Button>
                </Group>
              )}
            </Stack>
          </Fieldset>
        ))}
        <Group>
          <Button variant="default" onClick={() => onChange([...entries, variantControls(field, { type: types[0] })])}>
            {entries.length > 0 ? 'Add another' : 'Add one'}
          </Button>
        </Group>
      </Stack>
    </Fieldset>
  );
}

/** Edits fields nested in a field, such as a budget. A nullable one has a switch that shows them. */
function Nested(props: ControlProps) {
  const { field, values, path, faults, onChange } = props;
  const fields = listNestedFields(field, values);
  if (!fields) return null;
  const current_values = values[field.name] as Values | null;
  const inner = current_values ?? (field.nullable ? null : toControls(fields, null));
  return (
    <Fieldset legend={field.label} disabled={toSharedProps(props).disabled}>
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
