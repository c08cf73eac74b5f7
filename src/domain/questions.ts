import type { FieldError } from './errors.ts';

interface Described {
  title?: string | undefined;
  description?: string | undefined;
}
interface Choice {
  const: string;
  title: string;
}

/** One field of a form, in the part of JSON Schema that MCP servers may use for it. */
export type QuestionField = Described &
  (
    | { type: 'boolean'; default?: boolean | undefined }
    | {
        type: 'number' | 'integer';
        minimum?: number | undefined;
        maximum?: number | undefined;
        default?: number | undefined;
      }
    | {
        type: 'string';
        minLength?: number | undefined;
        maxLength?: number | undefined;
        format?: 'email' | 'uri' | 'date' | 'date-time' | undefined;
        enum?: string[] | undefined;
        /** The titles of `enum`, in its order. */
        enumNames?: string[] | undefined;
        oneOf?: Choice[] | undefined;
        default?: string | undefined;
      }
    | {
        type: 'array';
        minItems?: number | undefined;
        maxItems?: number | undefined;
        items: { enum?: string[] | undefined; anyOf?: Choice[] | undefined };
        default?: string[] | undefined;
      }
  );

/** The form that an MCP server asks a person to fill in while it runs a tool. */
export interface FormQuestion {
  message: string;
  /** The server that asks; `host` is null for a command. */
  asked_by: { server: string; host: string | null };
  schema: { properties: Record<string, QuestionField>; required?: string[] | undefined };
}

/** Thrown for a question that is not put to a person; the message is the reason. */
export class QuestionRefused extends Error {
  override readonly name = 'QuestionRefused';
}

export const ANSWER_ACTIONS = ['accept', 'decline', 'cancel'] as const;

export type AnswerValue = string | number | boolean | string[];

export interface Answer {
  action: (typeof ANSWER_ACTIONS)[number];
  /** The fields by name, if the answer is `accept`. */
  content?: Record<string, AnswerValue> | undefined;
}

/** A question of a call as it is on record. */
export interface OpenQuestion extends FormQuestion {
  id: string;
  /** A key that is equal for equal questions. */
  key: string;
  asked_at: string;
  /** The time at which it is answered with `cancel`, if nobody has answered it. */
  expires_at: string;
}

export interface GivenAnswer extends Answer {
  question_id: string;
  /** The key of the question. */
  key: string;
}

const MESSAGE_CHARACTERS = 4_000;
const MOST_FIELDS = 30;
const FIELD_NAME_CHARACTERS = 100;
const SCHEMA_CHARACTERS = 32 * 1_024;
/** The number of questions that one call may ask. */
export const MOST_QUESTIONS = 20;
/** The longest text in an answer, in characters. */
const ANSWER_CHARACTERS = 16 * 1_024;

/** Returns the reason a question is not put to a person; null if it is. */
export function findQuestionError({ message, schema }: Omit<FormQuestion, 'asked_by'>): string | null {
  const names = Object.keys(schema.properties);
  if (message.length > MESSAGE_CHARACTERS) return `its message has more than ${MESSAGE_CHARACTERS} characters`;
  if (names.length > MOST_FIELDS) return `it has more than ${MOST_FIELDS} fields`;
  if (names.some((name) => name.length > FIELD_NAME_CHARACTERS))
    return `the name of a field has more than ${FIELD_NAME_CHARACTERS} characters`;
  if (JSON.stringify(schema).length > SCHEMA_CHARACTERS) return `its schema has more than ${SCHEMA_CHARACTERS} characters`;
  const unknown = schema.required?.find((name) => !Object.hasOwn(schema.properties, name));
  return unknown === undefined ? null : `it requires ${JSON.stringify(unknown)}, which is not among its fields`;
}

/** Returns the values and titles that a field offers; null if it takes any value. */
export function findChoices(field: QuestionField): { value: string; label: string }[] | null {
  if (field.type === 'array') return toChoices(field.items.anyOf, field.items.enum);
  return field.type === 'string' ? toChoices(field.oneOf, field.enum, field.enumNames) : null;
}

function toChoices(titled?: Choice[], values?: string[], names: string[] = []) {
  if (titled) return titled.map(({ const: value, title }) => ({ value, label: title }));
  return values?.map((value, index) => ({ value, label: names[index] ?? value })) ?? null;
}

/** Returns the faults of an answer, by field. */
export function listAnswerErrors(
  { properties, required = [] }: FormQuestion['schema'],
  content: Record<string, unknown>,
): FieldError[] {
  const missing = required.filter((name) => !Object.hasOwn(content, name));
  const errors: FieldError[] = missing.map((path) => ({ path, message: 'This field is required' }));
  for (const [path, value] of Object.entries(content)) {
    const message = Object.hasOwn(properties, path) ? findValueError(properties[path]!, value) : 'The question has no such field';
    if (message !== null) errors.push({ path, message });
  }
  return errors;
}

function findValueError(field: QuestionField, value: unknown): string | null {
  switch (field.type) {
    case 'boolean':
      return typeof value === 'boolean' ? null : 'Must be true or false';
    case 'number':
    case 'integer':
      return findNumberError(field, value);
    case 'string':
      return findTextError(field, value);
    case 'array':
      return listFault(field, value);
  }
}

type NumberField = Extract<QuestionField, { minimum?: number | undefined }>;
function findNumberError({ type, minimum, maximum }: NumberField, value: unknown): string | null {
  if (typeof value !== 'number' || !Number.isFinite(value)) return 'Must be a number';
  if (type === 'integer' && !Number.isInteger(value)) return 'Must be a whole number';
  if (minimum !== undefined && value < minimum) return `Must be at least ${minimum}`;
  return maximum !== undefined && value > maximum ? `Must be at most ${maximum}` : null;
}

function findTextError(field: Extract<QuestionField, { type: 'string' }>, value: unknown): string | null {
  if (typeof value !== 'string') return 'Must be text';
  const { minLength = 0, maxLength = ANSWER_CHARACTERS, format } = field;
  const choices = findChoices(field);
  if (choices) return isAmong(choices, value) ? null : notAmong(choices);
  const characters = [...value].length;
  if (characters < minLength) return `Must have at least ${minLength} characters`;
  if (characters > Math.min(maxLength, ANSWER_CHARACTERS))
    return `Must have at most ${Math.min(maxLength, ANSWER_CHARACTERS)} characters`;
  return format === undefined || FORMATS[format].fits(value) ? null : `Must be ${FORMATS[format].name}`;
}

function listFault(field: Extract<QuestionField, { type: 'array' }>, value: unknown): string | null {
  if (!Array.isArray(value)) return 'Must be a list';
  const { minItems = 0, maxItems } = field;
  const choices = findChoices(field)!;
  if (!value.every((item) => isAmong(choices, item)) || new Set(value).size < value.length) return notAmong(choices);
  if (value.length < minItems) return `Choose at least ${minItems}`;
  return maxItems !== undefined && value.length > maxItems ? `Choose at most ${maxItems}` : null;
}

const isAmong = (choices: readonly { value: string }[], value: unknown) => choices.some((choice) => choice.value === value);
const notAmong = (choices: readonly { value: string }[]) => `Must be among ${choices.map(({ value }) => value).join(', ')}`;

const DAY = /^\d{4}-\d{2}-\d{2}$/;
const MOMENT = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;
const ADDRESS = /^[^\s@]+@[^\s@]+$/;

/** True for a date that exists: the 30th of February becomes another day when it is parsed. */
function isDay(text: string): boolean {
  if (!DAY.test(text)) return false;
  const at = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text);
}

const FORMATS = {
  email: { name: 'an email address', fits: (text: string) => ADDRESS.test(text) },
  uri: { name: 'an absolute URI', fits: (text: string) => URL.canParse(text) },
  date: { name: 'a date such as 2026-11-24', fits: isDay },
  'date-time': {
    name: 'a time such as 2026-11-24T09:30:00Z',
    fits: (text: string) => isDay(MOMENT.exec(text)?.[1] ?? '') && !Number.isNaN(Date.parse(text)),
  },
} as const;
