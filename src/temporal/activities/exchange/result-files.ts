import type { ModelFile } from '../../../domain/attachments.ts';
import { ModelFailure } from '../../../domain/model-failure.ts';
import { listShownFiles, SHOWN_KINDS, type ShownKinds } from '../../../domain/result-files.ts';
import type { TranscriptMessage } from '../../../domain/transcript.ts';
import type { ExchangeAttempt } from './attempt.ts';

/** The statuses with which endpoints refuse a request whose content they do not take. */
const REFUSED = [400, 404, 413, 415, 422];

type ResultFiles = ReadonlyMap<string, readonly ModelFile[]>;

interface AskOptions<T> {
  /** True if the runtime keeps the conversation: it is sent texts only. */
  keeps_context: boolean;
  ask(files: ResultFiles): Promise<T>;
  /** Is called before the model is asked again with fewer kinds. */
  onFewer(kinds: ShownKinds): Promise<void>;
}

/**
 * Asks the model with the images and sounds that tools returned. Nobody knows beforehand which of them an endpoint takes, so a
 * request that is refused is sent again with fewer kinds. If that is answered, it is remembered for the model.
 */
export async function askWithResultFiles<T>(
  work: ExchangeAttempt,
  transcript: readonly TranscriptMessage[],
  { keeps_context, ask, onFewer }: AskOptions<T>,
): Promise<T> {
  const { ports, definition } = work;
  const model = JSON.stringify([definition.provider?.id ?? null, definition.model]);
  let kinds: ShownKinds = keeps_context ? 'none' : (ports.file_takers.get(model) ?? SHOWN_KINDS[0]);
  for (;;) {
    const files = await loadShown(work, transcript, kinds);
    try {
      const answer = await ask(files);
      // A request may be refused for another reason, too; then the one without files fails as well.
      if (kinds !== SHOWN_KINDS[0] && !keeps_context) ports.file_takers.set(model, kinds);
      return answer;
    } catch (error) {
      const fewer = findFewer(transcript, kinds);
      if (files.size === 0 || fewer === null || !isRefusal(error)) throw error;
      await onFewer(fewer);
      kinds = fewer;
    }
  }
}

/** True if the endpoint may have refused the files: of a request that is too long, they are not the reason. */
const isRefusal = (error: unknown): boolean =>
  error instanceof ModelFailure && REFUSED.includes(error.status ?? 0) && error.code !== 'context_window_full';

/** Returns the next kinds that leave out a file; null if there are none. */
function findFewer(transcript: readonly TranscriptMessage[], kinds: ShownKinds): ShownKinds | null {
  const count = listShownFiles(transcript, kinds).length;
  const others = SHOWN_KINDS.slice(SHOWN_KINDS.indexOf(kinds) + 1);
  return others.find((one) => listShownFiles(transcript, one).length < count) ?? null;
}

async function loadShown(
  { ports, run }: ExchangeAttempt,
  transcript: readonly TranscriptMessage[],
  kinds: ShownKinds,
): Promise<ResultFiles> {
  const shown = listShownFiles(transcript, kinds);
  if (shown.length === 0) return new Map();
  const contents = await ports.loadResultFiles(
    shown.map(({ file }) => file),
    run.owner,
  );
  const by_id = new Map(contents.map((file) => [file.id, file]));
  const found = shown.flatMap(({ call_id, file: { id } }) => {
    const file = by_id.get(id);
    return file ? [{ call_id, file }] : [];
  });
  const grouped = Map.groupBy(found, ({ call_id }) => call_id);
  return new Map([...grouped].map(([call_id, group]) => [call_id, group.map(({ file }) => toModelFile(file))]));
}

const toModelFile = ({ name, media_type, content }: { name: string; media_type: string; content: Uint8Array }): ModelFile => ({
  name,
  media_type,
  data: Buffer.from(content).toString('base64'),
});
