/** The marks between which models think in the text of their answer, in lower case. */
const MARKS: readonly (readonly [open: string, close: string])[] = [
  ...['think', 'thinking', 'thought', 'thoughts', 'reasoning', 'seed:think', 'mm:think', 'antml:thinking'].map(
    (name) => [`<${name}>`, `</${name}>`] as const,
  ),
  ['[think]', '[/think]'],
  ['◁think▷', '◁/think▷'],
  ['<|begin_of_thought|>', '<|end_of_thought|>'],
  ['<|start_thinking|>', '<|end_thinking|>'],
  ['<|channel|>analysis<|message|>', '<|end|>'],
  ['<unused94>thought', '<unused95>'],
];

/** The marks that are words of people's own formats, too: they mark a thinking only if a text without a tag follows. */
const WORDS = ['<thinking>', '<thought>', '<thoughts>', '<reasoning>'];

/** What frames the answer after the thinking: it does not belong to it. */
const ANSWER_MARKS = [
  '<|start|>assistant<|channel|>final<|message|>',
  '<|channel|>final<|message|>',
  '<|start_response|>',
  '<|begin_of_solution|>',
];
const ANSWER_ENDS = ['<|return|>', '<|end_response|>', '<|end_of_solution|>'];

const LONGEST_MARK = Math.max(...[...MARKS.flat(), ...ANSWER_MARKS].map(({ length }) => length));

/** More blocks of thinking, or more space before one, do not count as thinking. */
const MOST_BLOCKS = 64;
const MOST_SPACE = 1_000;

/** Makes letters small without changing the number of characters, as `toLowerCase` would for some letters. */
const toSmall = (text: string): string => text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());

interface SplitText {
  text: string;
  reasoning: string;
}

interface SplitAnswer extends SplitText {
  /** True if the answer ended within its thinking, or with one that is marked by a mere word. */
  is_unended: boolean;
}

interface ThinkingSplitter {
  /** Takes a piece of the answer, and returns what of it is certainly text. */
  push(piece: string): string;
  /** Returns the text that was held back until it was known what it is. */
  end(): string;
  /** Returns the text and the reasoning of the whole answer, after its end. */
  all(): SplitAnswer;
}

/**
 * Splits thinking off the beginning of a streamed answer. Marks count only there, because an answer may be about them. Text that was
 * passed on turns out to be thinking if only its end is marked: the templates of some servers begin the thinking themselves.
 */
export function createThinkingSplitter(): ThinkingSplitter {
  let held = '';
  let close: string | null = null;
  let [is_over, is_marked, is_unended] = [false, false, false];
  let blocks = 0;
  let [text, reasoning] = ['', ''];
  /** The beginning of the answer as it came, until it is known that it is thinking; null: it is known. */
  let doubtful: { raw: string; reasoning: string; is_marked: boolean } | null = null;
  /** Takes characters off the front of the held text. */
  const take = (count: number): string => {
    const taken = held.slice(0, count);
    held = held.slice(count);
    if (doubtful) doubtful.raw += taken;
    return taken;
  };
  const say = (piece: string): string => {
    text += piece;
    return piece;
  };

  /** Takes what is decided off the front of the held text. Returns false if more has to arrive first. */
  function advance(): boolean {
    if (close !== null) {
      const at = toSmall(held).indexOf(close);
      if (at < 0) {
        const kept = Math.min(held.length, close.length - 1);
        reasoning += take(held.length - kept);
        return false;
      }
      reasoning += take(at);
      take(close.length);
      close = null;
      return true;
    }
    const begun = held.trimStart();
    is_over = blocks === MOST_BLOCKS || held.length - begun.length > MOST_SPACE;
    if (is_over) {
      doubtful = null;
      return false;
    }
    const lower = toSmall(begun.slice(0, LONGEST_MARK));
    const mark = MARKS.find(([open]) => lower.startsWith(open));
    if (mark) {
      if (WORDS.includes(mark[0])) doubtful ??= { raw: '', reasoning, is_marked };
      blocks += 1;
      is_marked = true;
      if (reasoning !== '') reasoning += '\n\n';
      take(held.length - begun.length + mark[0].length);
      close = mark[1];
      return true;
    }
    const answer_mark = ANSWER_MARKS.find((one) => lower.startsWith(one));
    if (answer_mark) {
      doubtful = null;
      held = begun.slice(answer_mark.length);
      is_marked = true;
      return true;
    }
    const marks = [...MARKS.map(([open]) => open), ...ANSWER_MARKS];
    if (lower === '' || marks.some((one) => one.startsWith(lower))) return false;
    is_over = true;
    if (doubtful && /^<[a-z]/i.test(begun)) {
      held = doubtful.raw + held;
      ({ reasoning, is_marked } = doubtful);
    }
    doubtful = null;
    return false;
  }

  return {
    push(piece) {
      if (is_over) return say(piece);
      held += piece;
      while (advance());
      if (!is_over) return '';
      const begun = is_marked ? held.trimStart() : held;
      held = '';
      return say(begun);
    },
    end() {
      const rest = held;
      held = '';
      if (close !== null) {
        // Thinking that never ends may hold the answer: nothing is lost.
        reasoning += rest;
        close = null;
        is_unended = true;
        return '';
      }
      is_unended = doubtful !== null && rest.trim() === '';
      return rest.trim() === '' && is_marked ? '' : say(rest);
    },
    all() {
      const split = is_marked ? { text: trimAnswerEnd(text), reasoning: reasoning.trim() } : splitByEnd(text);
      return { ...(split ?? { text, reasoning: '' }), is_unended };
    },
  };
}

const trimAnswerEnd = (text: string): string => {
  const mark = ANSWER_ENDS.find((one) => toSmall(text.trimEnd()).endsWith(one));
  return mark ? text.trimEnd().slice(0, -mark.length) : text;
};

/** The marks that end a thinking whose beginning the template of a server wrote. */
const ENDS = ['</think>', '</thinking>', '[/think]', '◁/think▷', '</seed:think>', '<|end_thinking|>'];

/** Splits a text that has only the end of its thinking, on a line's end and outside of code and JSON; null if it has none. */
function splitByEnd(text: string): SplitText | null {
  const lower = toSmall(text);
  const found = ENDS.map((mark) => ({ mark, at: lower.indexOf(mark) })).filter(({ at }) => at >= 0);
  const [first] = found.toSorted((one, other) => one.at - other.at);
  if (!first) return null;
  const before = text.slice(0, first.at);
  const after = text.slice(first.at + first.mark.length);
  const [open] = MARKS.find(([, close]) => close === first.mark)!;
  const in_code = before.split('`').length % 2 === 0 || /^\s*[[{"]/.test(before);
  if (in_code || lower.slice(0, first.at).includes(open) || !/^[ \t]*(?:\r?\n|[{[]|$)/.test(after)) return null;
  return { text: trimAnswerEnd(after.trimStart()), reasoning: before.trim() };
}

/** Splits the thinking off a whole answer. */
export function splitThinking(answer: string): SplitText {
  const splitter = createThinkingSplitter();
  splitter.push(answer);
  splitter.end();
  const { text, reasoning } = splitter.all();
  return { text, reasoning };
}
