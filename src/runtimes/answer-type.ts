import { ModelFailure } from '../domain/model-failure.ts';

const hasContentType = ({ headers }: Response, type: string) => (headers.get('content-type') ?? '').includes(type);

/** True if an endpoint sent its whole answer at once, although it was asked to stream. */
export const isJson = (response: Response): boolean => hasContentType(response, 'application/json');

/** Refuses a successful response without an answer: a proxy's or sign-in HTML page, or an empty body. `expected`: `a chat completion`. */
export async function refuseOtherAnswers(response: Response, expected: string): Promise<void> {
  const { status, body } = response;
  if (body && !hasContentType(response, 'text/html')) return;
  await body?.cancel();
  throw body
    ? new ModelFailure(`The model's endpoint answered with an HTML page instead of ${expected}; check base_url`, {
        code: 'model_sent_html',
        recoverable: false,
      })
    : new ModelFailure(`The model's endpoint answered ${status} and nothing else; check base_url`, {
        code: 'empty_answer',
        recoverable: false,
      });
}
