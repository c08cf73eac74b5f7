import { Anchor } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type Attachment, attachments } from '../../contracts/attachments.ts';
import { type ApiProblem, requestUrl } from '../api/call.ts';
import { useClient } from '../api/context.tsx';
import { saveBlob } from '../ui/download.tsx';
import { FailureBelow } from '../ui/states.tsx';

/**
 * Lists the files that a run was given. Each name downloads its file. It is not a link, because the download needs the access
 * token.
 */
export function RunFiles({ files }: { files: readonly Attachment[] }) {
  const { send } = useClient();
  const download = useMutation<void, ApiProblem, Attachment>({
    mutationFn: async ({ id, name }) => {
      const response = await send(requestUrl(attachments.content, { params: { id } }), {});
      saveBlob(name, await response.blob());
    },
  });
  return (
    <>
      {files.map((file, index) => (
        <span key={file.id}>
          {index > 0 && ', '}
          <Anchor component="button" inherit aria-label={`Download ${file.name}`} onClick={() => download.mutate(file)}>
            {file.name}
          </Anchor>
        </span>
      ))}
      {download.error && <FailureBelow problem={download.error} />}
    </>
  );
}
