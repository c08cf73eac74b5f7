import pg from 'pg';

/** On a separate connection, which ends with the work. */
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
