export type ErrorKind =
  | 'invalid'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'conflict'
  | 'precondition'
  | 'too_large'
  | 'unsupported'
  | 'unprocessable'
  | 'upstream'
  | 'unavailable';

export interface FieldError {
  /** Dotted path of the field, such as `items.0.name`. */
  path: string;
  message: string;
}

/** A refusal that its reader can act on. `code` is stable and for machines, the message is a sentence for people. */
export class AppError extends Error {
  readonly kind: ErrorKind;
  readonly code: string;
  readonly errors: FieldError[] | undefined;

  constructor(kind: ErrorKind, message: string, { code, errors }: { code?: string; errors?: FieldError[] } = {}) {
    super(message);
    this.name = 'AppError';
    this.kind = kind;
    this.code = code ?? kind;
    this.errors = errors;
  }
}

/** The noun as a sentence needs it. */
export const one = (noun: string) => `${/^(?:[aeiou]|MCP)/i.test(noun) ? 'an' : 'a'} ${noun}`;

export const notFound = (noun: string, id: string) => new AppError('not_found', `No ${noun} has the id ${id}`);

export const foreign = (noun: string) => new AppError('forbidden', `This ${noun} belongs to someone else`);

export const conflict = (message: string, code = 'conflict') => new AppError('conflict', message, { code });

/** 422 about named fields. */
export const unprocessable = (errors: FieldError[], code = 'invalid_fields') =>
  new AppError('unprocessable', errors.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join('; '), {
    code,
    errors,
  });

/** Connection troubles, as node-postgres, Node and Prisma name them; deadlocks too, which the next try resolves. */
const DATABASE_AWAY =
  /ECONNREFUSED|ECONNRESET|EPIPE|ENOTFOUND|57P0[123]|40P01|40001|08\d{3}|P1001|P1002|P1008|P1017|P2024|P2034|Connection terminated|Connection ended|connection timeout|timeout exceeded when trying to connect|DatabaseNotReachable/i;

/** Whether the database could not be reached, as opposed to having refused. */
export const databaseIsAway = (error: unknown): boolean => {
  const { code = '', message = '', cause } = (error ?? {}) as { code?: string; message?: string; cause?: unknown };
  return DATABASE_AWAY.test(`${code} ${message}`) || (cause !== undefined && databaseIsAway(cause));
};
