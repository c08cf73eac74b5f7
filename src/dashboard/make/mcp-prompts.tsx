import { Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { type McpPrompts, mcps } from '../../contracts/mcps.ts';
import { useAct } from '../api/queries.ts';
import { DialogButton } from '../ui/dialog-button.tsx';
import { Failure } from '../ui/states.tsx';
import { useUnsaved } from '../ui/unsaved.tsx';

interface Takes {
  /** The servers that were chosen for the agent, by id and name. */
  servers: { value: string; label: string }[];
  onTake(text: string): void;
}

/** A button that takes a prompt of one of the chosen MCP servers. */
export function McpPromptButton({ servers, onTake }: Takes) {
  if (servers.length === 0) return null;
  return (
    <Group>
      <DialogButton label="Take a prompt of an MCP server" title="Prompts of MCP servers" size="lg" needs={mcps.prompts.access}>
        {(close) => (
          <McpPromptChoice
            servers={servers}
            onTake={(text) => {
              onTake(text);
              close();
            }}
          />
        )}
      </DialogButton>
    </Group>
  );
}

/** Stands in a choice until something is chosen. */
const NOTHING = { value: '', label: 'Choose …', disabled: true };

export function McpPromptChoice({ servers, onTake }: Takes) {
  const list = useAct(mcps.prompts);
  const [server, setServer] = useState('');
  const [chosen, setChosen] = useState('');
  const prompts = list.data?.prompts ?? [];
  const prompt = prompts.find(({ name }) => name === chosen);
  const chooseServer = (id: string) => {
    setServer(id);
    setChosen('');
    list.mutate({ params: { id } });
  };
  return (
    <Stack>
      <NativeSelect
        label="MCP server"
        data={[NOTHING, ...servers]}
        value={server}
        onChange={(event) => chooseServer(event.currentTarget.value)}
        description="It is asked for its prompts when you choose it."
      />
      <Failure problem={list.error} />
      {list.isPending && <Text c="dimmed">Asking the server …</Text>}
      {list.data && prompts.length === 0 && <Text c="dimmed">This server has no prompts.</Text>}
      {prompts.length > 0 && (
        <NativeSelect
          label="Prompt"
          data={[NOTHING, ...prompts.map(({ name, title }) => ({ value: name, label: title ?? name }))]}
          value={chosen}
          description={prompt?.description}
          onChange={(event) => setChosen(event.currentTarget.value)}
        />
      )}
      {server && prompt && <PromptFields key={prompt.name} server_id={server} prompt={prompt} onTake={onTake} />}
    </Stack>
  );
}

interface Fields {
  server_id: string;
  prompt: McpPrompts['prompts'][number];
  onTake(text: string): void;
}

function PromptFields({ server_id, prompt, onTake }: Fields) {
  const fill = useAct(mcps.fillPrompt);
  const [values, setValues] = useState<Record<string, string>>({});
  useUnsaved(Object.values(values).some((value) => value !== ''));
  const missing = prompt.arguments.some(({ name, required }) => required && !values[name]);
  // An argument that is left empty is not sent.
  const filled = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''));
  const take = () =>
    fill.mutate(
      { params: { id: server_id }, body: { name: prompt.name, arguments: filled } },
      { onSuccess: ({ text }) => onTake(text) },
    );
  return (
    <Stack>
      {prompt.arguments.map(({ name, description, required }) => (
        <TextInput
          key={name}
          label={name}
          description={description}
          required={required}
          value={values[name] ?? ''}
          onChange={({ currentTarget: { value } }) => setValues((before) => ({ ...before, [name]: value }))}
        />
      ))}
      <Failure problem={fill.error} />
      <Group>
        <Button onClick={take} loading={fill.isPending} data-needs={fill.needs} disabled={missing}>
          Use this prompt
        </Button>
      </Group>
    </Stack>
  );
}
