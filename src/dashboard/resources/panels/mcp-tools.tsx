import { Checkbox, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { type McpTool, mcps } from '../../../contracts/mcps.ts';
import { useClient } from '../../api/context.tsx';
import { useRefusal } from '../../api/may.ts';
import { useRead, useWork } from '../../api/queries.ts';
import { Section } from '../../ui/page.tsx';
import { Empty, Failure, Loaded } from '../../ui/states.tsx';
import { allowTool, type Tick } from './allow-tool.ts';

/** Selects the tools of a server that agents can use. */
export function McpTools({ id }: { id: string }) {
  const query = useRead(mcps.tools, { params: { id } });
  return (
    <Section title="Tools">
      <Loaded query={query} what="Loading the tools of the server">
        {({ tools, listed_at }) => {
          if (listed_at === null) return <Empty>The tools have not been listed yet. Choose List tools to ask the server.</Empty>;
          return tools.length === 0 ? <Empty>The server offers no tools.</Empty> : <Ticks id={id} tools={tools} />;
        }}
      </Loaded>
    </Section>
  );
}

function Ticks({ id, tools }: { id: string; tools: McpTool[] }) {
  const client = useClient();
  const work = useWork((tick: Tick) => allowTool(client, { id, all: tools.map(({ name }) => name) }, tick), {
    line: `tools of ${id}`,
    needs: 'write',
  });
  const refusal = useRefusal(work.needs);
  // A change is shown at once, and further ones are accepted, while it is saved and the tools are read again.
  const [pending, setPending] = useState<Record<string, boolean>>({});
  const isTicked = ({ name, allowed }: McpTool) => pending[name] ?? allowed;
  const ticked = tools.filter(isTicked);
  const change = async (tick: Tick) => {
    setPending((previous) => ({ ...previous, [tick.name]: tick.on }));
    await work.mutateAsync(tick).catch(() => {
      // Shown below as `work.error`.
    });
    setPending(({ [tick.name]: _, ...others }) => others);
  };
  return (
    <Stack gap={6} className="panel">
      <Text c="dimmed">{refusal ?? 'Select the tools that agents can use, at least one.'}</Text>
      {tools.map((tool) => (
        <Checkbox
          key={tool.name}
          label={<span className="mono">{tool.name}</span>}
          description={`${tool.effect}. ${tool.description}`}
          checked={isTicked(tool)}
          disabled={refusal !== null || (ticked.length === 1 && isTicked(tool))}
          onChange={(event) => void change({ name: tool.name, on: event.currentTarget.checked })}
        />
      ))}
      <Failure problem={work.error} />
    </Stack>
  );
}
