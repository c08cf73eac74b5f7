import { parseExact } from '../domain/exact-json.ts';
import { ModelFailure } from '../domain/model-failure.ts';
import { truncate } from '../domain/outside.ts';
import { takeSource } from '../domain/relayed-body.ts';
import { type BodyReader, readEvents } from './answer-events.ts';
import { findPageText, throwReportedError } from './vendor-errors.ts';

/** How a body ended, apart from what the answer itself says. */
export interface BodyEnd {
  /** `mark`: the vendor's end mark, such as `[DONE]`; `whole`: the answer was sent at once; `none`: the body just ended. */
  by: 'mark' | 'whole' | 'none';
  /** The last text of a stream that is neither part of the answer nor a sign of life; null: none. */
  stray: string | null;
}

interface AnswerReader extends BodyReader {
  /** Receives an answer that was sent at once. */
  onWhole(answer: object): void;
}

/** Some endpoints send these while they work, also before a JSON body. A byte order mark is a blank, too. */
const BLANKS_AND_COMMENTS = /^(?:\s+|:[^\r\n]*[\r\n]+)*/;
/** A line that has no name of a field in its first characters is text. */
const FIELD_CHARACTERS = 64;
const EVENT_FIELD = /^(?:data|event|id|retry)\s*:/i;

/**
 * Reads the body of a successful answer: server-sent events, one JSON value, or JSON in lines. Its first characters decide, because
 * many endpoints label it wrongly. Throws for an error that the body reports, and for a body that is not an answer. `expected`:
 * `a chat completion`.
 */
export async function readAnswer(response: Response, expected: string, reader: AnswerReader): Promise<BodyEnd> {
  const { body, status, headers } = response;
  if (!body) throw refuseEmpty(status);
  const source = takeSource(body);
  const decoder = new TextDecoder();
  const events = readEvents(reader, headers);
  const judge = judgeBeginning();
  let text = '';
  try {
    while (!events.isEnded()) {
      const { done, value } = await source.read();
      const { kind, piece } = judge(done ? decoder.decode() : decoder.decode(value, { stream: true }), done);
      if (kind === 'events') events.feed(piece);
      else if (kind === 'text') text += piece;
      if (done) {
        events.end();
        break;
      }
    }
    source.cancel().catch(() => {});
  } catch (error) {
    source.cancel(error).catch(() => {});
    throw error;
  }
  if (text !== '') return readText(text, { response, expected, reader });
  return { by: events.isEnded() ? 'mark' : 'none', stray: events.getStray() };
}

/**
 * Returns a function that says what the pieces of a body belong to, and holds back the first ones until that is known. It drops the
 * blanks and comments before the body, so that none is read twice.
 */
function judgeBeginning() {
  let kind: 'events' | 'text' | null = null;
  let begin = '';
  return (piece: string, is_end: boolean): { kind: typeof kind; piece: string } => {
    if (kind !== null) return { kind, piece };
    begin = (begin + piece).replace(BLANKS_AND_COMMENTS, '');
    const [first = ''] = begin;
    // Of a comment that has not ended, only its mark is kept.
    if (first === ':') begin = first;
    if (first !== '' && '{[<"'.includes(first)) kind = 'text';
    else if (EVENT_FIELD.test(begin)) kind = 'events';
    else if (is_end) kind = begin === '' || first === ':' ? 'events' : 'text';
    else if (begin.length >= FIELD_CHARACTERS || /[\r\n]/.test(begin)) kind = 'text';
    return { kind, piece: begin };
  };
}

function refuseEmpty(status: number): ModelFailure {
  const message = `The model's endpoint answered ${status} and nothing else; check base_url`;
  return new ModelFailure(message, { code: 'empty_answer', recoverable: false });
}

interface TextBody {
  response: Response;
  expected: string;
  reader: AnswerReader;
}

function readText(text: string, { response: { headers }, expected, reader }: TextBody): BodyEnd {
  const refuse = (message: string, code: string, recoverable: boolean) =>
    new ModelFailure(`The model's endpoint answered with ${message}`, { code, recoverable });
  if (text.startsWith('<')) {
    const page_text = findPageText(text);
    throw refuse(
      `an HTML page${page_text ? ` (${page_text})` : ''} instead of ${expected}; check base_url`,
      'model_sent_html',
      false,
    );
  }
  const [value, is_whole] = parseBody(text);
  if (value === undefined) {
    if (/^[{[]/.test(text)) throw new SyntaxError('it is not valid JSON');
    throw refuse(`text instead of ${expected}: ${truncate(text.trim())}`, 'bad_model_response', true);
  }
  for (const part of value) throwReportedError(part, { headers });
  if (is_whole) for (const part of value) reader.onWhole(Object(part));
  else for (const part of value) reader.onEvent(Object(part));
  return { by: is_whole ? 'whole' : 'none', stray: null };
}

/** Returns the JSON values of a body: one, or one in each line. Undefined: it is not JSON. */
function parseBody(text: string): [values: unknown[] | undefined, is_whole: boolean] {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  try {
    return [[parseExact(text)], true];
  } catch {
    try {
      return [lines.length > 1 ? lines.map(parseExact) : undefined, false];
    } catch {
      return [undefined, false];
    }
  }
}
