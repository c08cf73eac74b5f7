import type { SizeSample } from '../../domain/sizes.ts';
import { type Database, onlyRow, row, rows } from '../database/database.ts';
import { findFact, writeFact } from '../database/installation.sql.ts';
import * as sql from './sizes.sql.ts';

const SAMPLES = 'size_samples';
/** A week of hourly samples. */
const KEPT = 168;

interface TableSize {
  name: string;
  bytes: number;
}

/** Stores the present and earlier sizes of the database. */
export function sizeStore({ pool }: Pick<Database, 'pool'>) {
  const samples = async (): Promise<SizeSample[]> => {
    const fact = await row<{ value: string }>(pool, findFact({ name: SAMPLES }));
    return fact ? (JSON.parse(fact.value) as SizeSample[]) : [];
  };
  return {
    database: async () => (await onlyRow<{ bytes: number }>(pool, sql.databaseBytes())).bytes,
    /** Lists tables with their indexes, the largest first. A partitioned table counts as a whole. */
    largestTables: (limit: number): Promise<TableSize[]> => rows<TableSize>(pool, sql.largestTables({ limit })),
    /** Returns the samples, oldest first. */
    samples,
    /** Adds a sample and keeps only the latest ones. */
    async note(sample: SizeSample): Promise<void> {
      const latest_samples = [...(await samples()), sample].slice(-KEPT);
      await rows(pool, writeFact({ name: SAMPLES, value: JSON.stringify(latest_samples) }));
    },
  };
}
