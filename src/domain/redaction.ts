import { isExactNumber, parseExact } from './exact-json.ts';
import { secretSpellings } from './spellings.ts';

const MARK = '[redacted]';
/** The least length of a cut-off beginning of a secret; a shorter match may be chance. */
const SHORTEST_PIECE = 4;

/** Removes secrets from texts. More secrets can be added at any time. */
export interface Redactor {
  know(...values: string[]): void;
  /** Returns the number of secrets that were added to it, not counting those of its base. */
  size(): number;
  text(input: string): string;
  /** Redacts every text of a value, keys included; errors in it stay errors. */
  value<T>(input: T): T;
  /** Redacts JSON. The result is still JSON, even if a secret looks like a number or like syntax. */
  json(input: string): string;
  /** Redacts output that may have been cut in the middle of a secret; the first half is removed too. */
  output(input: string, bytes: number): string;
  /** Redacts an error and its causes in place, because its class must stay the same. */
  error<E>(error: E): E;
  /** Removes secrets from a text that arrives in pieces, even if a secret is split between two pieces. */
  stream(emit: (piece: string) => void): RedactedStream;
  indexes(): readonly Index[];
}

interface RedactedStream {
  push(piece: string): void;
  /** Ends the stream: the text is complete or was cut off. A possible first part of a secret is not shown. */
  end(how: { cut: boolean }): void;
}

/** Creates a redactor. `base` holds further secrets to redact. */
export function redactor(values: Iterable<string> = [], base?: Redactor): Redactor {
  const secrets = new Set<string>();
  let index: Index | null = null;
  const own = () => {
    index ??= buildIndex(secrets);
    return index;
  };
  const indexes = (): Index[] => [...(secrets.size > 0 ? [own()] : []), ...(base?.indexes() ?? [])];
  const text = (input: string) => replaceSecrets(input, indexes(), false).out;
  const know = (...more: string[]) => {
    for (const value of more) {
      if (value === '' || secrets.has(value)) continue;
      secrets.add(value);
      index = null;
    }
  };
  know(...values);
  return {
    know,
    text,
    indexes,
    size: () => secrets.size,
    value: <T>(input: T): T => walk(input, text) as T,
    json(input) {
      const redacted_text = text(input);
      if (redacted_text === input || !isJson(input) || isJson(redacted_text)) return redacted_text;
      return JSON.stringify(walk(parseExact(input), text));
    },
    output(input, bytes) {
      const redacted_text = text(input);
      return bytes > Buffer.byteLength(input) ? withoutPiece(redacted_text, indexes()) : redacted_text;
    },
    error: (error) => redactError(error, text),
    stream: (emit) => createRedactedStream(indexes, emit),
  };
}

/** The spellings by their first two characters, the longest first. */
interface Index {
  spellings: Map<number, string[]>;
  /** The first characters of the spellings that are longer than one character. */
  firsts: Set<number>;
  longest: number;
}

const toIndexKey = (text: string, at: number) => (text.charCodeAt(at) << 16) | text.charCodeAt(at + 1);

function buildIndex(secrets: Iterable<string>): Index {
  const all = [...new Set([...secrets].flatMap(secretSpellings))].sort((a, b) => b.length - a.length);
  const firsts = new Set(all.filter(({ length }) => length > 1).map((spelling) => spelling.charCodeAt(0)));
  return { spellings: Map.groupBy(all, (spelling) => toIndexKey(spelling, 0)), firsts, longest: all[0]?.length ?? 0 };
}

/** Returns the text without secrets. If more may follow, a possible beginning of a secret is returned as `rest`. */
function replaceSecrets(input: string, indexes: readonly Index[], more: boolean): { out: string; rest: string } {
  if (indexes.length === 0) return { out: input, rest: '' };
  const safe_end = more ? findPartialSecret(input, indexes) : input.length;
  let out = '';
  let copy_end = 0;
  for (let at = 0; at < safe_end; ) {
    const length = measureSecret(input, at, indexes);
    if (length === 0) at += 1;
    else {
      out += input.slice(copy_end, at) + MARK;
      at += length;
      copy_end = at;
    }
  }
  const end = Math.max(copy_end, safe_end);
  return { out: out + input.slice(copy_end, end), rest: input.slice(end) };
}

/** Returns the length of the longest secret that begins at this index. */
function measureSecret(input: string, at: number, indexes: readonly Index[]): number {
  const key = toIndexKey(input, at);
  let length = 0;
  for (const { spellings } of indexes) {
    const spelling = spellings.get(key)?.find((spelling) => input.startsWith(spelling, at));
    if (spelling && spelling.length > length) length = spelling.length;
  }
  return length;
}

/** Returns the index from which the end of a text may be the beginning of a secret. */
function findPartialSecret(input: string, indexes: readonly Index[]): number {
  const longest = Math.max(...indexes.map((index) => index.longest));
  for (let at = Math.max(0, input.length - longest + 1); at < input.length; at += 1)
    if (isSecretStart(input, at, indexes)) return at;
  return input.length;
}

/** True if a secret may begin here. It runs for each character of every stream, so the first character decides most cases. */
function isSecretStart(input: string, at: number, indexes: readonly Index[]): boolean {
  const first = input.charCodeAt(at);
  if (!indexes.some(({ firsts }) => firsts.has(first))) return false;
  const piece = input.slice(at);
  if (piece.length === 1) return true;
  const longer = (spelling: string) => spelling.length > piece.length && spelling.startsWith(piece);
  return indexes.some(({ spellings }) => spellings.get(toIndexKey(piece, 0))?.some(longer));
}

function withoutPiece(text: string, indexes: readonly Index[]): string {
  const at = findPartialSecret(text, indexes);
  return text.length - at < SHORTEST_PIECE ? text : text.slice(0, at) + MARK;
}

function createRedactedStream(indexes: () => readonly Index[], emit: (piece: string) => void): RedactedStream {
  let waiting = '';
  const send = (piece: string) => {
    if (piece !== '') emit(piece);
  };
  return {
    push(piece) {
      const { out, rest } = replaceSecrets(waiting + piece, indexes(), true);
      waiting = rest;
      send(out);
    },
    end({ cut }) {
      const { out } = replaceSecrets(waiting, indexes(), false);
      waiting = '';
      send(cut && indexes().length > 0 ? withoutPiece(out, indexes()) : out);
    },
  };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function redactError<E>(error: E, text: (input: string) => string): E {
  for (let inner: unknown = error; inner instanceof Error; inner = inner.cause) {
    const { message, stack } = inner;
    if (text(message) !== message) inner.message = text(message);
    if (stack && text(stack) !== stack) inner.stack = text(stack);
  }
  return error;
}

function walk(value: unknown, text: (input: string) => string): unknown {
  if (value instanceof Error) return redactError(value, text);
  if (value instanceof Date) return value;
  if (Array.isArray(value)) return value.map((item) => walk(item, text));
  if (value && typeof value === 'object' && !isExactNumber(value))
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [text(key), walk(item, text)]));
  const input_text = isExactNumber(value) ? value.rawJSON : String(value);
  const redactedText = text(input_text);
  return redactedText === input_text ? value : redactedText;
}
