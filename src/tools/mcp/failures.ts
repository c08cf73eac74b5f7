/** The server refused a request, or answered it with an error. The message is a sentence about the server, without its name. */
export class McpRefused extends Error {
  override readonly name = 'McpRefused';
  /** The HTTP status; absent: the server answered within the protocol. */
  readonly status: number | undefined;
  /** True if the request cannot have been executed. */
  readonly unexecuted: boolean;

  constructor(message: string, { status, unexecuted }: { status?: number | undefined; unexecuted: boolean }) {
    super(message);
    this.status = status;
    this.unexecuted = unexecuted;
  }
}

/** The statuses that concern the caller, not the session or the request: no access, or too many requests. */
export const ABOUT_CALLER = new Set<number | undefined>([401, 403, 429]);

/** The connection to the server, or its session, is lost. */
export class McpLost extends Error {
  override readonly name = 'McpLost';
  /** False if the request cannot have been executed. */
  readonly sent: boolean;
  readonly status: number | undefined;

  constructor(message: string, { sent, status, ...options }: ErrorOptions & { sent: boolean; status?: number }) {
    super(message, options);
    this.sent = sent;
    this.status = status;
  }
}

/** The server did not answer a request in time, so Perdura has cancelled it. */
export class McpSilent extends Error {
  override readonly name = 'McpSilent';
}

/** The server answered a request with what is not an answer of the protocol. */
export class McpUnreadable extends Error {
  override readonly name = 'McpUnreadable';
}

const FAILURES = [McpRefused, McpLost, McpSilent, McpUnreadable];

/** True if an error is about a request to a server, so that its message does not name the server. */
export const isMcpFailure = (error: unknown): error is Error => FAILURES.some((kind) => error instanceof kind);

/** Returns why what a server sent is not a message of the protocol; null if an error is not about that. */
export function findUnreadable(error: unknown): string | null {
  if (error instanceof McpUnreadable) return error.message;
  if (error instanceof SyntaxError) return 'it is not valid JSON';
  // The faults that a validator lists are about its own code.
  return Array.isArray((error as { issues?: unknown } | null)?.issues) ? 'it is not a message of the protocol' : null;
}

/** The prefix with which the errors of older SDKs begin. */
const PREFIX = /^(?:MCP error -?\d+: )+/;

interface Issue {
  path?: unknown;
  message?: unknown;
}

/** Replaces the list of faults that a server's validator has written into its message by one sentence for each fault. */
export function withoutDumps(text: string): string {
  const message = text.replace(PREFIX, '');
  const start = message.search(/\[\s*\{/);
  const end = message.lastIndexOf(']');
  if (start < 0 || end < start) return message;
  const issues = parseIssues(message.slice(start, end + 1));
  return issues ? `${message.slice(0, start)}${issues.map(formatIssue).join('; ')}${message.slice(end + 1)}` : message;
}

function parseIssues(json: string): Issue[] | null {
  try {
    const value: unknown = JSON.parse(json);
    return Array.isArray(value) && value.every(isIssue) ? value : null;
  } catch {
    return null;
  }
}

const isIssue = (value: unknown): value is Issue => {
  const { path, message } = Object(value) as Issue;
  return typeof message === 'string' && Array.isArray(path);
};

const formatIssue = ({ path, message }: Issue): string => {
  const place = (path as unknown[]).map(String).join('.');
  return place ? `${place}: ${message}` : String(message);
};
