import { isValidPhoneNumber } from 'libphonenumber-js/min';
import { RE2JS } from 're2js';
import validator from 'validator';
import { findMatches, type Span } from './patterns.ts';

interface PersonalData extends Span {
  kind: string;
}

interface Kind {
  kind: string;
  /** The pattern that finds candidates, in linear time. */
  candidate: RE2JS;
  /** True if a candidate is personal data. */
  confirm(text: string): boolean;
}

const digits = (text: string) => text.replaceAll(/\D/g, '');

/**
 * The kinds of personal data. Patterns find candidates; libraries that know check digits, number plans and formats confirm
 * them.
 */
const KINDS: readonly Kind[] = [
  {
    kind: 'e-mail address',
    candidate: RE2JS.compile('[\\p{L}\\p{N}._%+-]+@[\\p{L}\\p{N}-]+(?:\\.[\\p{L}\\p{N}-]+)+'),
    confirm: (text) => validator.isEmail(text),
  },
  {
    kind: 'IBAN',
    candidate: RE2JS.compile('\\b[A-Z]{2}\\d{2}(?: ?[A-Z0-9]){11,30}\\b'),
    confirm: (text) => validator.isIBAN(text),
  },
  {
    kind: 'card number',
    candidate: RE2JS.compile('\\b\\d(?:[ -]?\\d){12,18}\\b'),
    confirm: (text) => validator.isCreditCard(digits(text)),
  },
  {
    kind: 'US social security number',
    candidate: RE2JS.compile('\\b\\d{3}-\\d{2}-\\d{4}\\b'),
    confirm: (text) => !/^(?:000|666|9\d\d)|-00-|-0000/.test(text),
  },
  {
    kind: 'IP address',
    candidate: RE2JS.compile('\\b\\d{1,3}(?:\\.\\d{1,3}){3}\\b|\\b[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{0,4}){3,7}\\b'),
    confirm: (text) => validator.isIP(text),
  },
  {
    kind: 'phone number',
    candidate: RE2JS.compile('(?:\\+\\d|\\(\\d|\\b\\d)(?:[ ().-]{0,2}\\d){7,14}\\b'),
    confirm: (text) => isValidPhoneNumber(text, 'US'),
  },
];

/**
 * Returns the personal data in a text, by kind. Each finding is blanked before the next kind is searched, so that it cannot be
 * part of another candidate.
 */
export function findPersonalData(text: string): PersonalData[] {
  const findings: PersonalData[] = [];
  let rest = text;
  for (const { kind, candidate, confirm } of KINDS) {
    const spans = [...findMatches(candidate, rest)].filter(({ start, end }) => confirm(rest.slice(start, end)));
    for (const span of spans) findings.push({ kind, ...span });
    rest = blankSpans(rest, spans);
  }
  return findings;
}

/** Replaces spans by line breaks, which no candidate contains. */
function blankSpans(text: string, spans: readonly Span[]): string {
  let out = '';
  for (const { start, end } of spans) out += text.slice(out.length, start) + '\n'.repeat(end - start);
  return out + text.slice(out.length);
}
