import Papa from 'papaparse';
import type { UsageRow } from '../../contracts/usage.ts';
import { nameOf } from './measures.ts';

/** For spreadsheets: one line a group. A name that a spreadsheet would take for a formula is quoted. */
export const csvOf = (rows: UsageRow[]): string =>
  Papa.unparse(
    rows.map((row) => ({ name: nameOf(row), ...row })),
    { escapeFormulae: true, newline: '\n' },
  );
