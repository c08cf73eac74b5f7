import type { Problem } from './generated/api.ts';

/** The API refused a request, or failed to answer it. */
export class PerduraError extends Error {
  override readonly name: string = 'PerduraError';
  readonly status: number;
  /** A stable word for programs, such as `not_found` or `on_busy`. */
  readonly code: string;
  /** The id of the request, as in the log of the service. */
  readonly request_id: string | null;
  /** The invalid fields, each with its message. */
  readonly errors: { path: string; message: string }[];
  /** The time until the next attempt, if the service knows it. */
  readonly retry_after_seconds: number | null;

  constructor(status: number, problem: Partial<Problem>, headers: Headers) {
    const request_id = problem.request_id ?? headers.get('x-request-id');
    const detail = problem.detail ?? `The service answered with status ${status}`;
    super(request_id ? `${detail} (${status}, request ${request_id})` : `${detail} (${status})`);
    this.status = status;
    this.code = problem.code ?? 'unknown';
    this.request_id = request_id;
    this.errors = problem.errors ?? [];
    this.retry_after_seconds = parseSeconds(headers.get('retry-after'));
  }
}

/** The service did not answer: it is unreachable, or the connection was lost. */
export class PerduraConnectionError extends Error {
  override readonly name: string = 'PerduraConnectionError';

  constructor(url: string, cause: unknown) {
    super(`${new URL(url).origin} did not answer: ${getReason(cause)}`, { cause });
  }
}

/** The service's answer does not have the documented form. */
export class PerduraAnswerError extends Error {
  override readonly name: string = 'PerduraAnswerError';

  constructor(url: string, what: string) {
    super(`${new URL(url).origin} ${what}; use the address of Perdura itself: a proxy may have answered instead`);
  }
}

/** Returns the message of the cause, in which `fetch` hides the reason of its error. */
function getReason(error: unknown): string {
  const { message, cause } = error as { message?: string; cause?: { code?: string; message?: string } };
  return cause?.code ?? (cause?.message || message || String(error));
}

/** Parses a `Retry-After` header, which holds seconds or a date. */
function parseSeconds(text: string | null): number | null {
  if (text === null) return null;
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1_000;
  return Number.isNaN(seconds) ? null : Math.max(0, seconds);
}

export async function toPerduraError(response: Response): Promise<PerduraError> {
  const text = await response.text();
  return new PerduraError(response.status, parseProblem(text), response.headers);
}

/** Parses problem details. A proxy in front of the service may answer with other bodies. */
function parseProblem(text: string): Partial<Problem> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
