import { ModelFailure } from '../../domain/model-failure.ts';

/** A page of a list, as the vendor's client has it. */
interface Page<T> {
  iterPages(): AsyncIterable<Page<T>>;
  getPaginatedItems(): T[];
  hasNextPage(): boolean;
}

const MOST_PAGES = 1_000;

/** The number of entries requested per page. */
export const PAGE = 100;

/** Iterates over the entries of a list at the vendor. The vendor may name further pages forever, so their number is limited. */
export async function* iterateEntries<T>(first: PromiseLike<Page<T>>, what: string): AsyncGenerator<T> {
  let read = 0;
  for await (const page of (await first).iterPages()) {
    yield* page.getPaginatedItems();
    read += 1;
    if (read === MOST_PAGES && page.hasNextPage())
      throw new ModelFailure(
        `The provider's list of ${what} has more than ${MOST_PAGES} pages; remove old ones at the provider, or use another provider`,
        { code: 'bad_model_response', recoverable: false },
      );
  }
}
