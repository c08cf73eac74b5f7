import { z } from 'zod';

type Issue = z.core.$ZodRawIssue & { path?: PropertyKey[] };

const KINDS: Record<string, string> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
  null: 'null',
  nan: 'a number',
};

const FORMATS: Record<string, string> = {
  uuid: 'an id, such as 0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001',
  uuidv7: 'an id, such as 0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001',
  guid: 'an id, such as 0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001',
  url: 'a web address that begins with http:// or https://',
  datetime: 'a time in ISO 8601, such as 2026-01-31T12:00:00Z',
  date: 'a date, such as 2026-01-31',
  email: 'an e-mail address',
};

const SIZES: Record<string, string> = {
  string: 'characters',
  array: 'entries',
  set: 'entries',
  map: 'entries',
  object: 'fields',
};

/** Returns the message for a value that a schema refuses; a schema's own message takes precedence. */
function formatIssue(issue: Issue): string {
  const place = (issue.path ?? []).map(String).join('.');
  const subject = place ? `\`${place}\`` : 'It';
  return `${subject} ${formatPredicate(issue)}`;
}

function formatPredicate(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is required';
      return `must be ${KINDS[issue.expected] ?? issue.expected}${issue.input === null ? ', not null' : ''}`;
    case 'too_small':
      return formatMinimum(issue);
    case 'too_big':
      return SIZES[issue.origin]
        ? `must have at most ${issue.maximum} ${SIZES[issue.origin]}`
        : `must be ${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}`;
    case 'invalid_value':
      if (issue.input === undefined) return 'is required';
      return issue.values.length === 1
        ? `must be ${String(issue.values[0])}`
        : `must be one of ${issue.values.map(String).join(', ')}`;
    case 'invalid_format':
      return FORMATS[issue.format] ? `must be ${FORMATS[issue.format]}` : 'does not have the right form';
    case 'invalid_union':
      return issue.input === undefined ? 'is required' : 'has none of the accepted forms';
    case 'unrecognized_keys':
      return `has unknown fields: ${issue.keys.join(', ')}`;
    case 'invalid_key':
      return `has a name that is not allowed: ${issue.issues[0]!.message}`;
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    default:
      return 'is not valid';
  }
}

function formatMinimum({ origin, minimum, inclusive }: Extract<Issue, { code: 'too_small' }>): string {
  const unit = SIZES[origin];
  if (unit) return minimum === 1 ? 'must not be empty' : `must have at least ${minimum} ${unit}`;
  return `must be ${inclusive === false ? 'greater than' : 'at least'} ${minimum}`;
}

/** Sets the messages of every schema in this process. */
z.config({ customError: (issue) => formatIssue(issue as Issue) });
