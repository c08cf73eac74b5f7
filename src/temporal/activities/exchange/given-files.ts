import { type AttachedFile, isTextFile, type ModelFile, quoteFile, tryDecodeUtf8 } from '../../../domain/attachments.ts';
import { type FilesOfTurns, pickGivenFiles } from '../../../domain/given-files.ts';
import { type SentMessage, storable, type TranscriptMessage } from '../../../domain/transcript.ts';
import type { ExchangePorts } from './attempt.ts';

interface LoadedFile {
  name: string;
  media_type: string;
  content: Uint8Array;
}

/** Adds the files of each turn to the prompt that they came with: texts become a part of the prompt, others go next to it. */
export async function addGivenFiles(
  { loadFiles }: Pick<ExchangePorts, 'loadFiles'>,
  transcript: readonly TranscriptMessage[],
  run: FilesOfTurns,
): Promise<SentMessage[]> {
  const picked = pickGivenFiles(transcript, run);
  const sent_messages: SentMessage[] = [];
  for (const message of transcript) {
    const { shown, left_out } = picked.get(message) ?? NO_FILES;
    const with_files = shown.length > 0 ? withFiles(message, await loadFiles(shown)) : message;
    sent_messages.push(nameLeftOut(with_files, left_out));
  }
  return sent_messages;
}

const NO_FILES = { shown: [], left_out: [] };

/** Adds the names of files that the model is not shown. */
const nameLeftOut = (message: SentMessage, files: readonly Pick<AttachedFile, 'name'>[]): SentMessage =>
  files.length > 0
    ? { ...message, content: [message.content, ...files.map(({ name }) => `[${name} is not shown]`)].join('\n\n') }
    : message;

/** Returns a prompt with the names of its images and PDF files in place of them. */
export const leaveOutFiles = ({ files = [], ...message }: SentMessage): SentMessage => nameLeftOut(message, files);

function withFiles(message: TranscriptMessage, files: readonly LoadedFile[]): SentMessage {
  const texts = files.filter(isTextFile).map(({ name, content }) => quoteFile(name, storable(tryDecodeUtf8(content) ?? '')));
  const others = files.filter((file) => !isTextFile(file)).map(toModelFile);
  return addFiles({ ...message, content: [message.content, ...texts].join('\n\n') }, others);
}

export const addFiles = (message: SentMessage, files: readonly ModelFile[] = []): SentMessage =>
  files.length > 0 ? { ...message, files } : message;

export const toModelFile = ({ name, media_type, content }: LoadedFile): ModelFile => ({
  name,
  media_type,
  data: Buffer.from(content).toString('base64'),
});
