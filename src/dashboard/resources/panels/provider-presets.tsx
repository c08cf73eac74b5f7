import { Anchor, List, NativeSelect, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { type ProviderPreset, providers } from '../../../contracts/providers.ts';
import { useRead } from '../../api/queries.ts';
import type { FillProps } from '../form.tsx';

/** Fills in a new provider for a known vendor, and shows the vendor's particularities. */
export function ProviderPresets({ values, set }: FillProps) {
  const { data: presets = [] } = useRead(providers.presets);
  const [chosen, setChosen] = useState('');
  const preset = presets.find(({ id }) => id === chosen);
  const choose = (id: string) => {
    setChosen(id);
    const next = presets.find((one) => one.id === id);
    if (next) fill(next);
  };
  const fill = ({ name, provider_type, base_url, model_example }: ProviderPreset) => {
    const isCustom = (field: string, of: (one: ProviderPreset) => string) =>
      values[field] !== '' && !presets.some((one) => of(one) === values[field]);
    if (!isCustom('name', (one) => one.name)) set('name', name);
    if (!isCustom('default_model', (one) => one.model_example)) set('default_model', model_example);
    set('provider_type', provider_type);
    set('base_url', base_url ?? '');
  };
  return (
    <Stack gap="xs">
      <NativeSelect
        label="Vendor"
        description="Fills in the type and the address."
        value={chosen}
        onChange={(event) => choose(event.currentTarget.value)}
        data={[{ value: '', label: 'Another endpoint' }, ...presets.map(({ id, name }) => ({ value: id, label: name }))]}
      />
      {preset && <PresetNotes preset={preset} />}
    </Stack>
  );
}

function PresetNotes({ preset: { key_hint, differences, docs_url } }: { preset: ProviderPreset }) {
  return (
    <>
      <Text size="sm">{key_hint ? `Key: ${key_hint}.` : 'Needs no key.'}</Text>
      <List size="sm">
        {differences.map((difference) => (
          <List.Item key={difference}>{difference}</List.Item>
        ))}
      </List>
      <Anchor size="sm" href={docs_url} target="_blank" rel="noreferrer">
        Documentation of the vendor
      </Anchor>
    </>
  );
}
