import { Button, FileButton, type FileButtonProps, Group, Pill, Text } from '@mantine/core';
import { useRef, useState } from 'react';
import { type Attachment, attachments } from '../../contracts/attachments.ts';
import { ApiProblem } from '../api/call.ts';
import { useAct } from '../api/queries.ts';

/**
 * Holds the files that are sent with a prompt. Each is uploaded as soon as it is chosen, so that a refusal is known before the
 * prompt is sent.
 */
export function usePromptFiles(initial: readonly Attachment[]) {
  const upload = useAct(attachments.upload, { line: 'files of a prompt' });
  const [files, setFiles] = useState(initial);
  const [uploading, setUploading] = useState(0);
  const [problems, setProblems] = useState<ApiProblem[]>([]);
  const add = async (new_files: readonly File[]) => {
    setUploading((count) => count + new_files.length);
    setProblems([]);
    for (const file of new_files) {
      // Browsers derive types from the extension, such as video/mp2t for .ts; the service determines the type by the content.
      const content = new File([file], file.name);
      await upload.mutateAsync({ file: { content } }).then(
        (new_file) => setFiles((current) => [...current, new_file]),
        (reason: ApiProblem) => {
          const problem = nameFile(reason, file);
          setProblems((current) => [...current.filter(({ message }) => message !== problem.message), problem]);
        },
      );
      setUploading((count) => count - 1);
    }
  };
  return {
    files,
    add: (new_files: readonly File[]) => void add(new_files),
    remove: (id: string) => setFiles((current) => current.filter((file) => file.id !== id)),
    /** Adds files that were uploaded before. */
    take: (others: readonly Attachment[]) => setFiles((current) => [...current, ...others]),
    clear: () => setFiles([]),
    /** The number of uploads in progress. */
    uploading,
    /**
     * The reasons why some of the files chosen last were refused. A reason that several share, such as a lost connection,
     * appears once.
     */
    problems,
    needs: upload.needs,
  };
}

/** Returns the problem of a refused file with its name, which only some reasons have. */
function nameFile({ status, code, message, errors }: ApiProblem, { name }: File): ApiProblem {
  const is_about_file = status === 413 || status === 422;
  const reason = errors[0]?.message ?? message;
  return new ApiProblem({ status, code, detail: is_about_file && !reason.startsWith(name) ? `${name}: ${reason}` : reason });
}

type PromptFilesProps = Pick<ReturnType<typeof usePromptFiles>, 'files' | 'add' | 'remove' | 'uploading' | 'needs'>;

export function PromptFiles({ files, add, remove, uploading, needs }: PromptFilesProps) {
  return (
    <Group gap="xs">
      <FileChooser add={add}>
        {({ onClick }) => (
          <Button variant="default" size="xs" loading={uploading > 0} data-needs={needs} onClick={onClick}>
            Attach files
          </Button>
        )}
      </FileChooser>
      {files.length === 0 && (
        <Text size="xs" c="dimmed">
          Images, PDF and text; an image can be pasted into the prompt.
        </Text>
      )}
      <FilePills files={files} remove={remove} />
    </Group>
  );
}

export function FileChooser({ add, children }: Pick<PromptFilesProps, 'add'> & Pick<FileButtonProps<true>, 'children'>) {
  // Otherwise a browser does not report that the same file was chosen again.
  const reset = useRef<() => void>(null);
  const choose = (new_files: File[]) => {
    add(new_files);
    reset.current?.();
  };
  return (
    <FileButton multiple resetRef={reset} onChange={choose} inputProps={{ 'aria-label': 'Files to attach' }}>
      {children}
    </FileButton>
  );
}

export const FilePills = ({ files, remove }: Pick<PromptFilesProps, 'files' | 'remove'>) =>
  files.map(({ id, name }) => (
    <Pill
      key={id}
      withRemoveButton
      onRemove={() => remove(id)}
      removeButtonProps={{ 'aria-label': `Remove ${name}`, 'aria-hidden': false, tabIndex: 0 }}
    >
      {name}
    </Pill>
  ));
