import { ModelFailure } from '../../domain/model-failure.ts';

/** A page of a list, as the vendor's client has it. */
interface Page<T> {
  iterPages(): AsyncIterable<Page<T>>;
  getPaginatedItems(): T[];
  hasNextPage(): boolean;
}

const MOST_PAGES = 1_000;

/** How many entries a page is asked to have. */
export const PAGE = 100;

/** The entries of a list at the vendor. It may name another page forever, so the list is read up to a number of pages. */
export async function* entriesOf<T>(first: PromiseLike<Page<T>>, what: string): AsyncGenerator<T> {
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
