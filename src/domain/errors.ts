export type ErrorKind =
  | 'invalid'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'not_acceptable'
  | 'conflict'
  | 'precondition'
  | 'timeout'
  | 'too_large'
  | 'too_many'
  | 'unsupported'
  | 'unprocessable'
  | 'upstream'
  | 'unavailable';

export interface FieldError {
  /** The dotted path of the field, such as `items.0.name`. */
  path: string;
  message: string;
}

interface AppErrorFacts {
  code?: string;
  errors?: FieldError[];
  retry_after_s?: number;
  cause?: unknown;
}

/** An error that its reader can act on. `code` is stable and meant for machines; the message is a sentence for people. */
export class AppError extends Error {
  readonly kind: ErrorKind;
  readonly code: string;
  readonly errors: FieldError[] | undefined;
  /** The seconds to wait before another attempt, if that is known. */
  readonly retry_after_s: number | undefined;

  constructor(kind: ErrorKind, message: string, { code, errors, retry_after_s, cause }: AppErrorFacts = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'AppError';
    this.kind = kind;
    this.code = code ?? kind;
    this.errors = errors;
    this.retry_after_s = retry_after_s;
  }
}

/** Returns the noun with its indefinite article. */
export const one = (noun: string) => `${/^(?:[aeiou]|MCP)/i.test(noun) ? 'an' : 'a'} ${noun}`;

export const notFound = (noun: string, id: string) => new AppError('not_found', `No ${noun} with id ${id}`);

export const foreign = (noun: string) => new AppError('forbidden', `This ${noun} belongs to someone else`);

export const conflict = (message: string, code = 'conflict') => new AppError('conflict', message, { code });

/** Returns the error for a request whose Idempotency-Key another try of it uses now. */
export const keyBusy = () =>
  conflict(
    'Another try of this request, with the same Idempotency-Key, is in progress; repeat it in a moment',
    'idempotency_key_busy',
  );

/** Returns the error for an agent whose provider was deleted or never imported. Nothing is sent to another provider. */
export const providerMissing = (agent: string) =>
  conflict(`The provider of the agent ${agent} does not exist; give the agent another provider`, 'provider_missing');

const SECRET_NOT_GRANTED = 'secret_not_granted';

/** Returns the error for a stored token that is not granted to a destination; the sentence names who can change that. */
export const secretNotGranted = (message: string) => new AppError('forbidden', message, { code: SECRET_NOT_GRANTED });

const TOKEN_MISSING = 'token_missing';

/** Returns the error for a stored token that does not exist although something names it; the sentence states what to do. */
export const tokenMissing = (message: string) => new AppError('conflict', message, { code: TOKEN_MISSING });

const MCP_SIGN_IN_NEEDED = 'mcp_sign_in_needed';

/**
 * Returns the error for an MCP server that accepts only people who have signed in there; the sentence states who has to sign in,
 * and where.
 */
export const mcpSignInNeeded = (message: string) => new AppError('conflict', message, { code: MCP_SIGN_IN_NEEDED });

export const isMcpSignInNeeded = (error: unknown): boolean =>
  error instanceof Error && (error as { code?: unknown }).code === MCP_SIGN_IN_NEEDED;

/** The code of the refusal of a request whose token cannot be checked because its identity provider limits requests. */
export const IDENTITY_LIMITED = 'identity_limited';

export const isIdentityLimited = (error: unknown): error is AppError =>
  error instanceof AppError && error.code === IDENTITY_LIMITED;

export const isSecretNotGranted = (error: unknown): boolean =>
  error instanceof Error && (error as { code?: unknown }).code === SECRET_NOT_GRANTED;

/** Returns the code of an error about a stored token or a sign-in that only a person can resolve; null for every other error. */
export const secretRefusal = (error: unknown): string | null => {
  const { code } = (error instanceof Error ? error : {}) as { code?: unknown };
  return code === SECRET_NOT_GRANTED || code === TOKEN_MISSING || code === MCP_SIGN_IN_NEEDED ? code : null;
};

/** Formats an error for use inside another sentence, with its code if only a person can resolve it. */
export const formatRefusal = (error: Error): string => {
  const code = secretRefusal(error);
  return code ? `${code}: ${error.message}` : error.message;
};

/** Returns a 429 error: someone uses more at once than a limit allows. The request can be tried again. */
export const overLimit = (message: string, { code, retry_after_s = 5 }: { code: string; retry_after_s?: number }) =>
  new AppError('too_many', message, { code, retry_after_s });

/** Formats a field error. Adds no path to a message that already names its field. */
const formatFieldError = ({ path, message }: FieldError) =>
  path && !message.includes(`\`${path}\``) ? `${path}: ${message}` : message;

/** Returns a 422 error about the named fields. */
export const unprocessable = (errors: FieldError[], code = 'invalid_fields') =>
  new AppError('unprocessable', errors.map(formatFieldError).join('; '), {
    code,
    errors,
  });

/** Returns the sentence of a refusal; rethrows every other error. */
export function getRefusalSentence(error: unknown): string {
  if (error instanceof AppError) return error.message;
  throw error;
}
