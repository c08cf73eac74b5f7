import { Button, Fieldset, Group, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { type FormEvent, useRef, useState } from 'react';
import { McpImportButton } from '../resources/panels/mcp-panel.tsx';
import { MultiPicker } from '../resources/pickers.tsx';
import { useNames } from '../resources/references.ts';
import { Page } from '../ui/page.tsx';
import { Failure, Loaded } from '../ui/states.tsx';
import { useUnsaved } from '../ui/unsaved.tsx';
import { freeName } from './cards.ts';
import { McpPromptButton } from './mcp-prompts.tsx';
import { ModelSection } from './model-section.tsx';
import type { Wishes } from './steps.ts';
import { useMake } from './use-make.ts';
import { useModel } from './use-model.ts';

const INSTRUCTIONS = 'You are a helpful assistant.';
const NOTHING: Wishes = {
  name: '',
  system_prompt: INSTRUCTIONS,
  custom_tool_ids: [],
  builtin_tools: [],
  mcp_server_ids: [],
  knowledge_source_ids: [],
  guardrail_ids: [],
};

/** The page from a model to a first run. It creates the token, provider, agent and workflow. */
export default function MakePage() {
  const { model, make, wishes, wish, prompt, setPrompt, name, fault, submit, element } = useMakeForm();
  const { options } = useNames('mcp');
  const chosen_servers = options.filter(({ value }) => wishes.mcp_server_ids.includes(value));
  return (
    <Page title="Make your own">
      <Text c="dimmed">Create an agent in four steps. You can change everything later on its own screen.</Text>
      <form ref={element} onSubmit={submit} noValidate>
        <Stack maw="56rem">
          <Fieldset legend="1. Model">
            {/* The providers determine the model that is selected at first, so the section waits for them. */}
            <Loaded query={model.known} what="Loading the providers">
              {() => <ModelSection model={model} disabled={make.isPending} />}
            </Loaded>
          </Fieldset>
          <Fieldset legend="2. Tools, knowledge and guardrails">
            <Parts wishes={wishes} wish={wish} />
          </Fieldset>
          <Fieldset legend="3. Instructions">
            <Stack gap="sm">
              <TextInput
                label="Name"
                value={name}
                error={fault}
                onChange={(event) => wish({ name: event.currentTarget.value })}
                required
              />
              <Textarea
                label="Instructions"
                description="The role of the agent and how it should work."
                autosize
                minRows={3}
                maxRows={16}
                value={wishes.system_prompt}
                onChange={(event) => wish({ system_prompt: event.currentTarget.value })}
              />
            </Stack>
          </Fieldset>
          <Fieldset legend="4. Prompt">
            <Stack gap="sm">
              <Textarea
                label="Prompt"
                description="The first task of the agent. Leave it empty to create the agent without running it."
                autosize
                minRows={3}
                maxRows={16}
                value={prompt}
                onChange={(event) => setPrompt(event.currentTarget.value)}
              />
              <McpPromptButton servers={chosen_servers} onTake={setPrompt} />
            </Stack>
          </Fieldset>
          <Failure problem={make.error} />
          <Group>
            <Button type="submit" size="sm" loading={make.isPending} data-needs={make.needs} disabled={!model.known.data}>
              {prompt.trim() ? 'Create and run' : 'Create'}
            </Button>
          </Group>
        </Stack>
      </form>
    </Page>
  );
}

function Parts({ wishes, wish }: { wishes: Wishes; wish(changes: Partial<Wishes>): void }) {
  return (
    <Stack gap="sm">
      <MultiPicker
        kind="custom_tool"
        label="Custom tools"
        description="Python functions."
        value={wishes.custom_tool_ids}
        onChange={(custom_tool_ids) => wish({ custom_tool_ids })}
      />
      <MultiPicker
        kind="builtin_tool"
        label="Built-in tools"
        value={wishes.builtin_tools}
        onChange={(builtin_tools) => wish({ builtin_tools })}
      />
      <MultiPicker
        kind="mcp"
        label="MCP servers"
        value={wishes.mcp_server_ids}
        onChange={(mcp_server_ids) => wish({ mcp_server_ids })}
      />
      <Group>
        <McpImportButton onImported={(ids) => wish({ mcp_server_ids: [...wishes.mcp_server_ids, ...ids] })} />
        <Text size="xs" c="dimmed">
          Imports and chooses the MCP servers of another program, from its mcpServers JSON.
        </Text>
      </Group>
      <MultiPicker
        kind="knowledge_source"
        label="Knowledge"
        description="Documents that the agent searches."
        value={wishes.knowledge_source_ids}
        onChange={(knowledge_source_ids) => wish({ knowledge_source_ids })}
      />
      <MultiPicker
        kind="guardrail"
        label="Guardrails"
        description="Checks of prompts and answers."
        value={wishes.guardrail_ids}
        onChange={(guardrail_ids) => wish({ guardrail_ids })}
      />
    </Stack>
  );
}

function useMakeForm() {
  const model = useModel();
  const make = useMake(model);
  const element = useRef<HTMLFormElement>(null);
  const [wishes, setWishes] = useState(NOTHING);
  const [named, setNamed] = useState(false);
  const [prompt, setPrompt] = useState('');
  const [fault, setFault] = useState<string | null>(null);
  const agent_names = useNames('agent').options.map(({ label }) => label);
  const name = named ? wishes.name : freeName('my-agent', { taken: agent_names });
  const dirty = model.dirty || prompt.trim() !== '' || JSON.stringify(wishes) !== JSON.stringify(NOTHING);
  useUnsaved(dirty && !make.isPending);

  const wish = (changes: Partial<Wishes>) => {
    if (changes.name !== undefined) setNamed(true);
    setWishes((before) => ({ ...before, ...changes }));
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const wrong = !name.trim()
      ? 'Enter a name'
      : agent_names.includes(name.trim())
        ? 'There is already an agent with this name'
        : null;
    setFault(wrong);
    if (model.check() && !wrong) return make.mutate({ wishes: { ...wishes, name: name.trim() }, prompt });
    setTimeout(() => element.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
  };
  return { model, make, wishes, wish, prompt, setPrompt, name, fault, submit, element };
}
