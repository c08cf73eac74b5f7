/** Formats a time for an input of type `datetime-local`, by the clock of the browser; '' if the text is not a time. */
export function formatLocalTime(text: string): string {
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return '';
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
