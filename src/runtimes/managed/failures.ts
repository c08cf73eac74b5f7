import type { ModelFailure } from '../../domain/model-failure.ts';
import { createCutFailure, toModelFailure } from '../failures.ts';

/** Turns an error of the vendor's client into a ModelFailure with its message. */
export function toVendorFailure(error: unknown): unknown {
  const failure = toModelFailure(error, { who: 'The provider' });
  const { code } = failure as Partial<ModelFailure>;
  // The client parses the events of a session, so damaged ones arrive as these errors.
  if (code === 'bad_model_response' && (error instanceof SyntaxError || error instanceof TypeError))
    return createCutFailure('The stream of the session broke off');
  return failure;
}
