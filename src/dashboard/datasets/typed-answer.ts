import { parseJson } from '../ui/json.ts';

/** An expected answer as it is typed: a text, or the JSON of any value. */
export interface TypedAnswer {
  text: string;
  is_json: boolean;
}

export const toTypedAnswer = (answer: unknown): TypedAnswer => {
  if (answer === null || answer === undefined) return { text: '', is_json: false };
  return typeof answer === 'string' ? { text: answer, is_json: false } : { text: JSON.stringify(answer, null, 2), is_json: true };
};

/** Returns the answer, null if nothing is typed, or what is wrong with its JSON. */
export const readTypedAnswer = ({ text, is_json }: TypedAnswer): ReturnType<typeof parseJson> => {
  if (text.trim() === '') return { value: null };
  return is_json ? parseJson(text) : { value: text };
};
