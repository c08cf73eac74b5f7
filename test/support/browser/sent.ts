import type * as Queries from '@tanstack/react-query';

/** The state of a mutation: its reply, its error, or its input while it is in progress. */
type Outcome = { reply: object } | Error | { pending: object };

/** By operation. */
export type Sent = Record<string, Outcome>;

type Observers = Pick<typeof Queries, 'MutationObserver'>;

/** Renders as if a person had sent these mutations: without a browser, nobody can press their buttons. */
export function withSent<T>({ MutationObserver }: Observers, sent: Sent, render: () => T): T {
  const { prototype } = MutationObserver;
  const { getCurrentResult } = prototype;
  prototype.getCurrentResult = function (this: Queries.MutationObserver) {
    const idle = getCurrentResult.call(this);
    const outcome = sent[String(this.options.meta?.operation)];
    return (outcome ? { ...idle, ...toResult(outcome) } : idle) as never;
  };
  try {
    return render();
  } finally {
    prototype.getCurrentResult = getCurrentResult;
  }
}

function toResult(outcome: Outcome): object {
  if (outcome instanceof Error) return { error: outcome, isError: true, isIdle: false, status: 'error' };
  if ('pending' in outcome) return { variables: outcome.pending, isPending: true, isIdle: false, status: 'pending' };
  return { data: outcome.reply, isSuccess: true, isIdle: false, status: 'success' };
}
