import { type FormQuestion, findChoices, type QuestionField } from './questions.ts';
import { namesSecret } from './secrets.ts';

/** Terms that contain a word for a secret but do not mean one. */
const INNOCENT =
  /key[ _-]?(?:word|board|note|point|result|stroke)s?|(?:primary|foreign|sort|partition|hot)[ _-]?keys?|(?:max|min|total)[ _-]?tokens?|monkeys?|turkey|hockey|donkey|whiskey|secretar\w+/gi;

/** Words for secrets in sentences, where words such as `key` are common. */
const IN_PROSE =
  /\b(?:pass(?:word|phrase|code|wd)s?|pwd|(?:access|api|auth(?:entication|orization)?|bearer|refresh|session|security|secret|private|personal|deploy|ssh)[ _-]?(?:access[ _-]?)?(?:token|key|code)s?|secrets?|tokens?|credentials?|one[ -]time[ -](?:code|password)s?|otp|[2m]fa|cv[vc])\b/i;

/** Words for numbers that are secret: codes that prove who somebody is. */
const IN_NUMBERS = /pass(?:word|code)|\bpin\b|\botp\b|one[ _-]?time|[2m]fa|\bcv[vc]\b/i;

/** Removes whatever only disguises a word: invisible characters, accents and other forms of a letter. */
const bare = (text = '') => text.normalize('NFKD').replaceAll(/[\p{Default_Ignorable_Code_Point}\p{Cf}\p{M}]/gu, '');

function asksForSecret(name: string, field: QuestionField): boolean {
  if (field.type === 'boolean' || findChoices(field)) return false;
  const names = [name, field.title].map(bare);
  const description = bare(field.description);
  if (field.type !== 'string') return [...names, description].some((text) => IN_NUMBERS.test(text.replaceAll('_', ' ')));
  const { format } = field as { format?: string };
  return (
    format === 'password' ||
    IN_PROSE.test(description) ||
    names.some(
      (text) => namesSecret(text.replaceAll(INNOCENT, '')) || IN_PROSE.test(text.replaceAll(/_/g, ' ').replaceAll(INNOCENT, '')),
    )
  );
}

const takesText = (field: QuestionField) => field.type === 'string' && !findChoices(field);

/**
 * Returns the place where a question asks a person for a password, an access token or the like, judged by its words; null if it
 * does not. A person who is asked within a run cannot know which server gets the answer; the place for secrets is a page of the
 * server.
 */
export function findSecretRequest({ message, schema: { properties } }: Omit<FormQuestion, 'asked_by'>): string | null {
  const field = Object.entries(properties).find(([name, one]) => asksForSecret(name, one));
  if (field) return `its field ${JSON.stringify(field[0])}`;
  return IN_PROSE.test(bare(message)) && Object.values(properties).some(takesText) ? 'its message' : null;
}
