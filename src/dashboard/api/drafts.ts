/** The beginning of the keys under which a browser keeps drafts; the person and the place of the form follow. */
const PREFIX = 'perdura.draft';
/** How long a draft is kept after it was last changed. */
const KEPT_MS = 7 * 24 * 3_600_000;

interface Kept {
  /** When it was last changed, in milliseconds. */
  at: number;
  typed: unknown;
}

/**
 * Keeps what people type on this computer, so that a reload, another sign-in or a closed tab loses nothing. Each person has
 * their own drafts; while nobody is known, nothing is read or written.
 */
export function createDrafts(storage: Storage, getPerson: () => string | null) {
  const listKeys = () => Array.from({ length: storage.length ?? 0 }, (_, at) => storage.key(at)!);
  const prefixOf = (person: string) => `${PREFIX}:${encodeURIComponent(person)}:`;
  const keyOf = (place: string) => {
    const person = getPerson();
    return person === null ? null : prefixOf(person) + place;
  };
  /** The keys of the drafts that this tab has looked for or written. */
  const known = new Set<string>();
  const remove = (keys: string[]) => {
    for (const key of keys) storage.removeItem(key);
  };
  remove(listKeys().filter((key) => key.startsWith(`${PREFIX}:`) && parse(storage.getItem(key)) === null));
  return {
    /** Returns what was kept for the form at a place; null: nothing, or it is too old. */
    read(place: string): Kept | null {
      const key = keyOf(place);
      if (key === null) return null;
      known.add(key);
      return parse(storage.getItem(key));
    },
    /**
     * Keeps what was typed; null removes it, except a draft that its form could not look for, because the person was not known yet.
     * Returns false if it is not kept: nobody is known, or the browser is full.
     */
    write(place: string, typed: unknown): boolean {
      const key = keyOf(place);
      if (key === null || (typed === null && !known.has(key))) return false;
      known.add(key);
      try {
        const before = parse(storage.getItem(key));
        const at = before && JSON.stringify(before.typed) === JSON.stringify(typed) ? before.at : Date.now();
        if (typed === null) storage.removeItem(key);
        else storage.setItem(key, JSON.stringify({ at, typed } satisfies Kept));
        return true;
      } catch {
        // An older state must not come back as if it were the newest.
        storage.removeItem(key);
        return false;
      }
    },
    /** Reports what another tab of this browser keeps at a place now, and what was kept there before; null: nothing. */
    follow(place: string, onChange: (typed: unknown, before: unknown) => void): () => void {
      const onStorage = ({ key, newValue, oldValue }: StorageEvent) => {
        if (key !== null && key === keyOf(place)) onChange(parse(newValue)?.typed ?? null, parse(oldValue)?.typed ?? null);
      };
      window.addEventListener('storage', onStorage);
      return () => window.removeEventListener('storage', onStorage);
    },
    /** Removes all drafts of a person. */
    removeAll: (person: string) => remove(listKeys().filter((key) => key.startsWith(prefixOf(person)))),
  };
}

/** Parses a stored draft; null if it is missing, too old or of another form. */
function parse(text: string | null): Kept | null {
  try {
    const kept = JSON.parse(text ?? 'null') as Kept | null;
    return kept && kept.at > Date.now() - KEPT_MS ? kept : null;
  } catch {
    return null;
  }
}
