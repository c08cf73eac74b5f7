/** Characters that are not seen, or that change the order in which others are: format and bidirectional controls, fillers, control codes. */
const UNSEEN = /(?![\n\t]|\r\n)[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029]/gu;

const NUMBER_DIGITS = 4;

/** A text for a person who decides about it: what would not be seen is shown by its number, such as `‹U+202E›`. */
export const showUnseen = (text: string): string =>
  text.replaceAll(UNSEEN, (character) => `‹U+${toHex(character).padStart(NUMBER_DIGITS, '0')}›`);

const toHex = (character: string) => (character.codePointAt(0) ?? 0).toString(16).toUpperCase();
