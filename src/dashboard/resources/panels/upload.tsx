import { Button, FileInput, Group, Stack, TagsInput } from '@mantine/core';
import { type FormEvent, type ReactNode, useState } from 'react';
import { useNavigate } from 'react-router';
import { customTools } from '../../../contracts/custom-tools.ts';
import { knowledgeItems } from '../../../contracts/knowledge.ts';
import { useAct } from '../../api/queries.ts';
import { DialogButton } from '../../ui/dialog-button.tsx';
import { Failure } from '../../ui/states.tsx';
import { useUnsaved } from '../../ui/unsaved.tsx';
import { Picker } from '../pickers.tsx';

interface UploadProps {
  endpoint: typeof customTools.upload | typeof knowledgeItems.upload;
  accept: string;
  slug: string;
  fields: Record<string, string>;
  children?: ReactNode;
}

function UploadForm({ endpoint, accept, slug, fields, children }: UploadProps) {
  const [file, setFile] = useState<File | null>(null);
  const navigate = useNavigate();
  const act = useAct(endpoint);
  const has_input = file !== null || Object.values(fields).some(Boolean);
  useUnsaved(has_input && !act.isPending && !act.isSuccess);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    act.mutate({ file: { content: file!, fields } }, { onSuccess: ({ id }) => navigate(`/${slug}/${id}`) });
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <FileInput
          label="File"
          placeholder="Choose a file"
          accept={accept}
          value={file}
          onChange={setFile}
          required
          data-autofocus
        />
        {children}
        <Failure problem={act.error} />
        <Group justify="flex-end">
          <Button type="submit" disabled={!file} loading={act.isPending} data-needs={act.needs}>
            Upload
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

const NO_FIELDS = {};

export function UploadTool() {
  return (
    <DialogButton label="Upload" title="Upload a Python file named after its function" needs={customTools.upload.access}>
      <UploadForm endpoint={customTools.upload} accept=".py" slug="custom-tools" fields={NO_FIELDS} />
    </DialogButton>
  );
}

export function UploadItem() {
  return (
    <DialogButton label="Upload" title="Upload a document" needs={knowledgeItems.upload.access}>
      <UploadItemForm />
    </DialogButton>
  );
}

function UploadItemForm() {
  const [source_id, setSource] = useState<string | null>(null);
  const [tags, setTags] = useState<string[]>([]);
  return (
    <UploadForm
      endpoint={knowledgeItems.upload}
      accept=".pdf,.docx,.html,.htm,.md,.csv,.txt,.json"
      slug="knowledge-items"
      fields={{ ...(source_id ? { source_id } : {}), tags: tags.join(',') }}
    >
      <Picker
        kind="knowledge_source"
        label="Source"
        placeholder="Choose a built-in source"
        value={source_id}
        onChange={setSource}
        required
      />
      <TagsInput label="Tags" value={tags} onChange={setTags} />
    </UploadForm>
  );
}
