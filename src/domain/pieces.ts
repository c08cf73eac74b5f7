/**
 * The most characters of one delta event. A page of the record holds several, which readers share; text that collected while the
 * database was slow fills more.
 */
export const DELTA_CHARACTERS = 16 * 1024;

/** Splits a text into pieces of `characters`, or one more: both halves of a surrogate pair belong to one piece. */
export function* piecesOfText(text: string, characters: number): Generator<string> {
  for (let at = 0, end = 0; at < text.length; at = end) {
    end = at + characters;
    if (/[\ud800-\udbff]/.test(text[end - 1] ?? '')) end += 1;
    yield text.slice(at, end);
  }
}

/** How long the pieces of a text are kept after the end of its run. Its whole messages are kept with the run. */
export const DELTAS_KEPT_MS = 24 * 3_600_000;
