import { statement } from '../database/statement.ts';

export const databaseBytes = statement('database_bytes', [], `SELECT pg_database_size(current_database())::float8 AS bytes`);

export const largestTables = statement(
  'largest_tables',
  ['limit'],
  `SELECT coalesce(pg_partition_root(c.oid)::oid, c.oid)::regclass::text AS name, sum(pg_total_relation_size(c.oid))::float8 AS bytes
    FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT :limit`,
);
