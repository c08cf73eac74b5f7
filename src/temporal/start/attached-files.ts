import { type AttachedFile, isTextFile, tryDecodeUtf8 } from '../../domain/attachments.ts';
import { type Definition, isVendor } from '../../domain/definition.ts';
import { unprocessable } from '../../domain/errors.ts';
import type { Store } from '../../store/index.ts';
import type { TextToAdmit } from './fork.ts';

/**
 * Returns the texts among the files of a prompt, which guardrails read. Throws if the definition's runtime cannot be given one of
 * the files.
 */
export async function textsToAdmit(
  { attachments }: Pick<Store, 'attachments'>,
  definition: Definition,
  files: readonly AttachedFile[] = [],
): Promise<TextToAdmit[]> {
  refuseUnsupported(definition, files);
  const texts = files.filter(isTextFile);
  if (texts.length === 0) return [];
  const contents = await attachments.contents(texts.map(({ id }) => id));
  return contents.map(({ id, content }) => ({
    path: `attachments.${files.findIndex((file) => file.id === id)}`,
    text: tryDecodeUtf8(content) ?? '',
  }));
}

/** Throws for files other than texts if the run is a session at the vendor, which is sent only texts. */
function refuseUnsupported({ provider }: Definition, files: readonly AttachedFile[]): void {
  if (!provider || !isVendor(provider)) return;
  const errors = files.flatMap((file, index) =>
    isTextFile(file)
      ? []
      : [
          {
            path: `attachments.${index}`,
            message:
              `Runs of the provider ${provider.name} are sessions at the vendor, which are given texts only, not ${file.name} (${file.media_type}); ` +
              'use a provider of type anthropic_messages instead',
          },
        ],
  );
  if (errors.length > 0) throw unprocessable(errors, 'attachments_not_supported');
}
