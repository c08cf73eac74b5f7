import pg from 'pg';

/** Records the names of prepared statements that this process executes, from now on. Returns a function that lists them and ends it. */
export function recordStatements(): () => string[] {
  const names = new Set<string>();
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function (this: pg.Client, ...given: Parameters<typeof query>) {
    const first = given[0] as string | { name?: string } | undefined;
    if (typeof first === 'object' && first.name) names.add(first.name);
    return query.apply(this, given);
  } as typeof query;
  return () => {
    pg.Client.prototype.query = query;
    return [...names].sort();
  };
}
