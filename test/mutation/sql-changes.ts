/** A small change of SQL, as a tired colleague might make it. */
export interface SqlChange {
  kind: Kind;
  /** The offset of what is replaced. */
  at: number;
  was: string;
  becomes: string;
}

type Kind = 'condition' | 'comparison' | 'number' | 'order' | 'join' | 'coalesce' | 'negation' | 'extreme';

interface Token {
  text: string;
  /** In capitals if it is a word. */
  word: string;
  at: number;
  /** The number of parentheses around it. */
  depth: number;
}

const TOKENS = /--[^\n]*|'(?:[^']|'')*'|"[^"]*"|\$\w*\$|[$:]\w+|::|->>?|[<>=!|@?]+|\d+(?:\.\d+)?|\w+|[^\s\w]/g;

function listTokens(sql: string): Token[] {
  let depth = 0;
  const tokens: Token[] = [];
  for (const { 0: text, index } of sql.matchAll(TOKENS)) {
    if (text.startsWith('--')) continue;
    if (text === ')') depth -= 1;
    tokens.push({ text, word: text.toUpperCase(), at: index, depth });
    if (text === '(') depth += 1;
  }
  return tokens;
}

/** Ends a condition, if it stands no deeper than the condition. */
const ENDS = new Set(
  [
    'AND',
    'OR',
    'THEN',
    'WHEN',
    'ELSE',
    'END',
    'WHERE',
    'GROUP',
    'ORDER',
    'HAVING',
    'LIMIT',
    'OFFSET',
    'RETURNING',
    'UNION',
    'FOR',
  ].concat(['FROM', 'JOIN', 'LEFT', 'CROSS', 'ON', 'DO', 'SET', 'LOOP', 'INTO', 'AS', 'WINDOW', ',', ';']),
);

/** An equation is not turned around: without its condition the statement is as wrong. */
const SIDES: Record<string, string> = { '<': '<=', '<=': '<', '>': '>=', '>=': '>', '<>': '=' };

/** The value of `SELECT 1` is not read. */
const UNREAD = new Set(['SELECT', 'RETURNING', '.', 'PERFORM']);

const WORDS: Record<string, [Kind, string]> = {
  DESC: ['order', ''],
  MIN: ['extreme', 'max'],
  MAX: ['extreme', 'min'],
  LEAST: ['extreme', 'greatest'],
  GREATEST: ['extreme', 'least'],
};

/** Lists every change of a statement or a function. Not all are valid SQL; only the database can say which. */
export function listChanges(sql: string): SqlChange[] {
  const tokens = listTokens(sql);
  const changes: SqlChange[] = [];
  const add = (kind: Kind, from: Token, to: Token, becomes: string) =>
    changes.push({ kind, at: from.at, was: sql.slice(from.at, to.at + to.text.length), becomes });
  tokens.forEach((token, index) => {
    const { word, text } = token;
    const next = tokens[index + 1];
    const condition = next && CONDITIONS[word] && findCondition(tokens, index);
    if (condition && condition[0].word !== 'TRUE') add('condition', condition[0], condition[1], CONDITIONS[word]!);
    if (SIDES[text]) add('comparison', token, token, SIDES[text]);
    if (/^\d+$/.test(text) && !UNREAD.has(tokens[index - 1]?.word ?? '')) add('number', token, token, String(Number(text) + 1));
    const known = WORDS[word];
    if (known) add(known[0], token, token, known[1]);
    if (word === 'ORDER' && next?.word === 'BY')
      for (const last of findAscending(tokens, index + 1)) add('order', last, last, `${last.text} DESC`);
    if (word === 'JOIN' && !['LEFT', 'CROSS'].includes(tokens[index - 1]?.word ?? '')) add('join', token, token, 'LEFT JOIN');
    if (word === 'LEFT' && next?.word === 'JOIN') add('join', token, next, 'JOIN');
    if (word === 'COALESCE' && next) addFirst(tokens, index, (end, becomes) => add('coalesce', token, end, becomes), sql);
    if (word === 'NOT' && next && ['NULL', 'EXISTS'].includes(next.word)) add('negation', token, token, '');
    if (word === 'IS' && next?.word === 'NULL') add('negation', token, token, 'IS NOT');
  });
  return changes;
}

const CONDITIONS: Record<string, string> = { AND: 'TRUE', WHERE: 'TRUE', OR: 'FALSE', ON: 'TRUE' };

/** The first and last token of the condition after a word; null if the word begins none, as the AND of BETWEEN. */
function findCondition(tokens: readonly Token[], index: number): [Token, Token] | null {
  const { depth, word } = tokens[index]!;
  if (word === 'ON' && ['CONFLICT', 'DELETE', 'UPDATE'].includes(tokens[index + 1]!.word)) return null;
  if (word === 'AND' && isBetween(tokens, index)) return null;
  let last = index;
  let cases = 0;
  let between = 0;
  for (let at = index + 1; at < tokens.length; at += 1) {
    const token = tokens[at]!;
    if (token.depth < depth) break;
    if (token.depth === depth) {
      if (token.word === 'CASE') cases += 1;
      if (token.word === 'BETWEEN') between += 1;
      if (cases === 0 && ENDS.has(token.word)) {
        if (token.word !== 'AND' || between === 0) {
          if (token.word !== 'FROM' || tokens[at - 1]?.word !== 'DISTINCT') break;
        } else between -= 1;
      }
      if (token.word === 'END' && cases > 0) cases -= 1;
    }
    last = at;
  }
  return last > index ? [tokens[index + 1]!, tokens[last]!] : null;
}

function isBetween(tokens: readonly Token[], index: number): boolean {
  const { depth } = tokens[index]!;
  for (let at = index - 1; at >= 0; at -= 1) {
    const token = tokens[at]!;
    if (token.depth < depth) return false;
    if (token.depth !== depth) continue;
    if (token.word === 'BETWEEN') return true;
    if (ENDS.has(token.word)) return false;
  }
  return false;
}

/** The last tokens of the keys of an ORDER BY that ascend. */
function findAscending(tokens: readonly Token[], by: number): Token[] {
  const { depth } = tokens[by]!;
  const keys: Token[] = [];
  for (let at = by + 1; at < tokens.length; at += 1) {
    const token = tokens[at]!;
    const ends = token.depth < depth || (token.depth === depth && token.text !== ',' && ENDS.has(token.word));
    if (ends || (token.depth === depth && token.text === ',')) {
      const key = tokens[at - 1]!;
      if (!['DESC', 'ASC', 'LAST', 'FIRST'].includes(key.word)) keys.push(key);
    }
    if (ends) break;
  }
  return keys;
}

/** coalesce(a, b) becomes (a). */
function addFirst(tokens: readonly Token[], index: number, add: (end: Token, becomes: string) => void, sql: string): void {
  const { depth } = tokens[index]!;
  let comma: Token | undefined;
  for (let at = index + 2; at < tokens.length; at += 1) {
    const token = tokens[at]!;
    if (token.text === ',' && token.depth === depth + 1) comma ??= token;
    if (token.text === ')' && token.depth === depth) {
      if (comma) add(token, `(${sql.slice(tokens[index + 1]!.at + 1, comma.at)})`);
      return;
    }
  }
}

/** The whole text with a change. */
export const applyChange = (sql: string, { at, was, becomes }: SqlChange): string =>
  sql.slice(0, at) + becomes + sql.slice(at + was.length);
