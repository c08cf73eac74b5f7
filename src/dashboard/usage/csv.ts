import Papa from 'papaparse';
import type { UsageRow } from '../../contracts/usage.ts';
import { formatName } from './measures.ts';

/** Formats rows for spreadsheets, one group a line. A name that a spreadsheet would take for a formula is quoted. */
export const toCsv = (rows: UsageRow[]): string =>
  Papa.unparse(
    rows.map((row) => ({ name: formatName(row), ...row })),
    { escapeFormulae: true, newline: '\n' },
  );
