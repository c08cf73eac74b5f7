import type { CallQuestion, PerduraClient } from '../../client/index.ts';
import {
  type AnswerValue,
  type FormQuestion,
  findChoices,
  listAnswerErrors,
  type QuestionField,
} from '../../domain/questions.ts';
import { showUnseen } from '../../domain/unseen.ts';
import { cut } from '../remote/table.ts';
import type { Ask } from './ask.ts';

const LABEL_CHARACTERS = 60;
const DECLINE = '/decline';

interface Asked {
  client: PerduraClient;
  task_id: string;
  call_id: string;
  question: CallQuestion;
  key: string;
}

/** Asks for the fields of a question one after another. A question without fields is answered with y or n. */
export function askQuestion({ client, task_id, call_id, question, key }: Asked): Ask {
  // The service puts no other questions to people.
  const { properties, required = [] } = question.schema as FormQuestion['schema'];
  const names = Object.keys(properties);
  const content: Record<string, AnswerValue> = {};
  let at = 0;
  let fault = '';
  const give = async (action: 'accept' | 'decline') => {
    const body = { question_id: question.id, action, ...(action === 'accept' ? { content } : {}) };
    await client.request('POST /api/tasks/{id}/answers/{call_id}', { path: { id: task_id, call_id }, body });
    return true;
  };
  return {
    key,
    lines: [
      `? ${question.asked_by.server} asks: ${showUnseen(question.message)}`,
      ...names.map((name) => `    ${describeField(name, properties[name]!, required.includes(name))}`),
      ...(names.length > 0 ? [`    ${DECLINE} refuses to answer`] : []),
    ],
    prompt: () => (names.length === 0 ? 'Agree? y or n: ' : `${fault}${labelOf(names[at]!, properties[names[at]!]!)}: `),
    async answer(line) {
      const text = line.trim();
      if (text === DECLINE) return give('decline');
      if (names.length === 0) return /^(y|yes|n|no)$/i.test(text) && give(/^y/i.test(text) ? 'accept' : 'decline');
      const name = names[at]!;
      fault = readField({ name, field: properties[name]!, is_required: required.includes(name), text }, content);
      if (fault) return false;
      at += 1;
      return at === names.length && give('accept');
    },
  };
}

const labelOf = (name: string, { title }: QuestionField) =>
  cut(showUnseen(title ?? name).replaceAll(/\s+/g, ' '), LABEL_CHARACTERS);

function describeField(name: string, field: QuestionField, is_required: boolean): string {
  const choices = findChoices(field)?.map(({ label }) => label);
  const facts = [
    choices ? `${field.type === 'array' ? 'some of' : 'one of'} ${choices.join(', ')}` : field.type,
    ...(is_required ? ['required'] : []),
    ...('default' in field && field.default !== undefined ? [`by default ${field.default}`] : []),
  ];
  const about = field.description ? `: ${field.description}` : '';
  return showUnseen(`${field.title ?? name} (${facts.join('; ')})${about}`).replaceAll(/\s+/g, ' ');
}

interface TypedField {
  name: string;
  field: QuestionField;
  is_required: boolean;
  text: string;
}

/** Adds what was typed to the answer; an empty line takes the default. Returns what is wrong with it, or nothing. */
function readField({ name, field, is_required, text }: TypedField, content: Record<string, AnswerValue>): string {
  const value = text === '' ? field.default : parseValue(field, text);
  if (value === undefined) return is_required ? 'This field is required. ' : '';
  const [error] = listAnswerErrors({ properties: { [name]: field } }, { [name]: value });
  if (!error) content[name] = value;
  return error ? `${error.message}. ` : '';
}

/** Parses what was typed; the text itself if it is of another type, which the check refuses. */
function parseValue(field: QuestionField, text: string): AnswerValue {
  const choices = findChoices(field) ?? [];
  const chosen = (words: string) => choices.find(({ label }) => label === words)?.value ?? words;
  switch (field.type) {
    case 'boolean':
      return /^(y|yes|true)$/i.test(text) || (/^(n|no|false)$/i.test(text) ? false : text);
    case 'number':
    case 'integer':
      return Number(text);
    case 'array':
      return text.split(',').map((part) => chosen(part.trim()));
    case 'string':
      return chosen(text);
  }
}
