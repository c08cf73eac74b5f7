import { printable, say } from '../terminal.ts';

/** Prints rows under their titles, each column as wide as its widest text. */
export function sayTable(titles: string[], rows: string[][]): void {
  const lines = [titles, ...rows].map((row) => row.map((text) => printable(text.replaceAll(/\s+/g, ' ')).trim()));
  const widths = titles.map((_, at) => Math.max(...lines.map((line) => line[at]!.length)));
  for (const line of lines)
    say(
      line
        .map((text, at) => text.padEnd(widths[at]!))
        .join('  ')
        .trimEnd(),
    );
}

export const cut = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** Formats a time in the zone of this computer, with its offset from UTC; a dash for none. */
export function formatTime(iso: string | null): string {
  if (iso === null) return '-';
  const at = new Date(iso);
  const minutes = -at.getTimezoneOffset();
  const local = new Date(at.getTime() + minutes * 60_000).toISOString().slice(0, 19).replace('T', ' ');
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60].map((part) => String(part).padStart(2, '0'));
  return `${local} ${minutes < 0 ? '-' : '+'}${hours}:${rest}`;
}
