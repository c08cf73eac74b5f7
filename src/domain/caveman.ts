const FILLER =
  /\b(?:a|an|the|please|kindly|very|really|quite|just|simply|actually|basically|certainly|of course|in order(?= to)|you should|you must always|make sure (?:that )?(?:you )?|it is important (?:that|to))\b[ \t]*/gi;

export const TERSE_ANSWER = 'Answer terse: fewest words that say all. No greeting, no filler, no repeat of question.';

/** Shortens instructions by dropping words. Fenced or quoted code stays unchanged. */
export function terse(text: string): string {
  return text
    .split(/(```[\s\S]*?```|`[^`\n]*`)/)
    .map((part, index) => (index % 2 === 1 ? part : dropFiller(part)))
    .join('')
    .trim();
}

const dropFiller = (text: string): string =>
  text
    .replace(FILLER, '')
    .replace(/[ \t]{2,}/g, ' ')
    .replace(/(?<![ \t])[ \t]+(?=\n)/g, '')
    .replace(/\n{3,}/g, '\n\n');
