/**
 * Matches characters that are invisible or change the order in which others appear: format and bidirectional controls, fillers,
 * control codes.
 */
const UNSEEN = /(?![\n\t]|\r\n)[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029]/gu;

const NUMBER_DIGITS = 4;

/** Returns a text for a person who decides about it: invisible characters are shown by their numbers, such as `‹U+202E›`. */
export const showUnseen = (text: string): string =>
  text.replaceAll(UNSEEN, (character) => `‹U+${toHex(character).padStart(NUMBER_DIGITS, '0')}›`);

const toHex = (character: string) => character.codePointAt(0)!.toString(16).toUpperCase();
