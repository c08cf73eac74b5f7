import { Anchor, Image } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
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
      <FailureBelow problem={download.error} />
    </>
  );
}

const IMAGES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
const SOUNDS = ['audio/wav', 'audio/mpeg'];
const MOST_BYTES = 5 * 1_024 ** 2;

/** Shows the images and sounds among files. A drawing (SVG) is only offered as a download, because it may contain scripts. */
export function FilePreviews({ files, height = 400 }: { files: readonly Attachment[]; height?: number }) {
  return files
    .filter(({ media_type, size }) => size <= MOST_BYTES && [...IMAGES, ...SOUNDS].includes(media_type))
    .map((file) => <Preview key={file.id} file={file} height={height} />);
}

/** The content is put into the page itself, because a request of the browser for it would have no access token. */
function Preview({ file: { id, name, media_type }, height }: { file: Attachment; height: number }) {
  const { send } = useClient();
  const { data: url } = useQuery({
    queryKey: ['attachment content', id],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => {
      const response = await send(requestUrl(attachments.content, { params: { id } }), {});
      return readDataUrl(new Blob([await response.arrayBuffer()], { type: media_type }));
    },
  });
  if (!url) return null;
  // biome-ignore lint/a11y/useMediaCaption: nobody has captions of what a tool returned
  if (SOUNDS.includes(media_type)) return <audio controls src={url} aria-label={name} />;
  return <Image src={url} alt={name} w="auto" maw="100%" mah={height} fit="contain" />;
}

const readDataUrl = (blob: Blob): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
