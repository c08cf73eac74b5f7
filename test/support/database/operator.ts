import pg from 'pg';

/** Runs work on a separate connection, which is closed afterwards. */
export async function asOperator<T>(url: string, work: (operator: pg.Client) => Promise<T>): Promise<T> {
  const operator = new pg.Client(url);
  operator.on('error', () => {});
  await operator.connect();
  try {
    return await work(operator);
  } finally {
    await operator.end();
  }
}
