import type { ModelFile } from '../../../domain/attachments.ts';
import { ModelFailure } from '../../../domain/model-failure.ts';
import { listShownFiles, rememberKinds, SHOWN_KINDS, type ShownKinds, type ShownLimits } from '../../../domain/result-files.ts';
import type { SentMessage } from '../../../domain/transcript.ts';
import type { ExchangeAttempt, ExchangePorts } from './attempt.ts';
import { addFiles, leaveOutFiles, toModelFile } from './given-files.ts';

/** The statuses with which endpoints refuse a request whose content they do not take. */
const REFUSED = [400, 404, 413, 415, 422];

type ResultFiles = ReadonlyMap<SentMessage, readonly ModelFile[]>;

interface AskOptions<T> {
  /** The size of the model's context window, in tokens. */
  window: number;
  /** True if the runtime keeps the conversation: it is sent texts only. */
  keeps_context: boolean;
  /** Asks with a transcript whose results carry their files. */
  ask(transcript: SentMessage[]): Promise<T>;
  /** Is called before the model is asked again with fewer kinds. `earlier`: files of earlier turns are left out, too. */
  onFewer(kinds: ShownKinds, earlier: boolean): Promise<void>;
}

/**
 * Asks the model with the images and sounds that tools returned. Nobody knows beforehand which of them an endpoint takes, so a
 * request that is refused is sent again with fewer kinds, at last also without the files of earlier turns: another model may have been
 * asked then. If that is answered, it is remembered for the run.
 */
export async function askWithResultFiles<T>(
  { ports, run }: ExchangeAttempt,
  transcript: readonly SentMessage[],
  { window, keeps_context, ask, onFewer }: AskOptions<T>,
): Promise<T> {
  const { file_takers } = ports;
  let kinds: ShownKinds = keeps_context ? 'none' : (file_takers.get(run.task_id) ?? SHOWN_KINDS[0]);
  const earlier = transcript.filter(({ turn, files }) => files && turn !== transcript.at(-1)!.turn);
  for (;;) {
    const files = await loadShown(ports, transcript, { kinds, window, owner: run.owner });
    try {
      const answer = await ask(
        transcript.map((message) =>
          kinds === 'none' && earlier.includes(message) ? leaveOutFiles(message) : addFiles(message, files.get(message)),
        ),
      );
      // A request may be refused for another reason, too; then the one without files fails as well.
      if (kinds !== SHOWN_KINDS[0] && !keeps_context) rememberKinds(file_takers, run.task_id, kinds);
      return answer;
    } catch (error) {
      const fewer = findFewer(transcript, { kinds, window, earlier: earlier.length });
      const has_files = files.size > 0 || (kinds !== 'none' && earlier.length > 0);
      if (!has_files || fewer === null || !isRefusal(error)) throw error;
      await onFewer(fewer, fewer === 'none' && earlier.length > 0);
      kinds = fewer;
    }
  }
}

/** The status of a request that has too many bytes, most of which may be those of files. */
const TOO_LARGE = 413;

/** True if the endpoint may have refused the files: of a request of too many tokens, they are not the reason. */
const isRefusal = (error: unknown): boolean =>
  error instanceof ModelFailure &&
  REFUSED.some((status) => status === error.status) &&
  (error.code !== 'context_window_full' || error.status === TOO_LARGE);

/** Returns the next kinds that leave out a file; null if there are none. */
function findFewer(
  transcript: readonly SentMessage[],
  { kinds, window, earlier }: ShownLimits & { earlier: number },
): ShownKinds | null {
  const count = (shown: ShownKinds) =>
    listShownFiles(transcript, { kinds: shown, window }).length + (shown === 'none' ? 0 : earlier);
  const others = SHOWN_KINDS.slice(SHOWN_KINDS.indexOf(kinds) + 1);
  return others.find((one) => count(one) < count(kinds)) ?? null;
}

async function loadShown(
  { loadResultFiles }: Pick<ExchangePorts, 'loadResultFiles'>,
  transcript: readonly SentMessage[],
  { owner, ...limits }: ShownLimits & { owner: string },
): Promise<ResultFiles> {
  const shown = listShownFiles(transcript, limits);
  if (shown.length === 0) return new Map();
  const asked = shown.map(({ file }) => file);
  const contents = await loadResultFiles(asked, owner);
  const by_id = new Map(contents.map((file) => [file.id, file]));
  const found = shown.flatMap(({ result, file: { id } }) => {
    const file = by_id.get(id);
    return file ? [{ result, file }] : [];
  });
  const grouped = Map.groupBy(found, ({ result }) => result);
  return new Map([...grouped].map(([result, group]) => [result, group.map(({ file }) => toModelFile(file))]));
}
