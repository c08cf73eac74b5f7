import { Autocomplete, Button, Group, PasswordInput, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { modelCatalogue } from '../../contracts/model-catalogue.ts';
import { providers } from '../../contracts/providers.ts';
import { useRead } from '../api/queries.ts';
import { Picker } from '../resources/pickers.tsx';
import { formatCount, formatMoney } from '../ui/figures.ts';
import { TestVerdict } from '../ui/show.tsx';
import { FailureBelow } from '../ui/states.tsx';
import type { Card, Typed } from './cards.ts';
import type { ModelChoice } from './use-model.ts';

/** Chooses the model: one card per vendor, and below it the fields that the chosen card needs. */
export function ModelSection({ model, disabled }: { model: ModelChoice; disabled: boolean }) {
  return (
    <Stack gap="sm">
      <div role="radiogroup" aria-label="Model" className="choices">
        {model.choices.map(({ id, title, about }) => (
          <label key={id} className="choice">
            <input
              type="radio"
              name="model"
              value={id}
              aria-labelledby={`choice-${id}`}
              aria-describedby={`about-${id}`}
              checked={model.chosen === id}
              disabled={disabled}
              onChange={() => model.choose(id)}
            />
            <span>
              <strong id={`choice-${id}`}>{title}</strong>
              <span id={`about-${id}`} className="note">
                {about}
              </span>
            </span>
          </label>
        ))}
      </div>
      {model.card && <CardFields model={model} card={model.card} />}
      {model.chosen === 'existing' && (
        <Picker
          kind="provider"
          label="Provider"
          value={model.existing}
          onChange={model.setExisting}
          error={model.faults.existing}
          required
        />
      )}
      <TestRow model={model} />
    </Stack>
  );
}

function CardFields({ model, card }: { model: ModelChoice; card: Card }) {
  const { typed, faults, offered, replaced } = model;
  const hint = useCatalogueHint(typed.model, card.is_preset === true);
  const field = (name: keyof Typed) => ({ value: typed[name], error: faults[name] });
  const typing = (name: keyof Typed) => (event: { currentTarget: { value: string } }) =>
    model.type(name, event.currentTarget.value);
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm">
      {card.address && (
        <TextInput
          {...field('address')}
          label={card.address.label}
          placeholder={card.address.placeholder}
          onChange={typing('address')}
          required
        />
      )}
      {card.key && (
        <PasswordInput
          {...field('key')}
          aria-invalid={faults.key !== undefined}
          label={card.key.label}
          description={card.key.required ? 'Saved as an encrypted stored token.' : undefined}
          autoComplete="new-password"
          onChange={typing('key')}
          required={card.key.required}
        />
      )}
      {card.model !== null && (
        <Autocomplete
          {...field('model')}
          label="Model"
          description={[
            ...(replaced ? [`${replaced} is not offered there, so the first model is chosen.`] : []),
            offered.length > 0
              ? `${formatCount(offered.length, 'model')} available.`
              : 'Press Test to list the available models.',
            ...(card.is_preset ? [hint] : []),
          ].join(' ')}
          data={offered}
          onChange={(value) => model.type('model', value)}
          required
        />
      )}
    </SimpleGrid>
  );
}

/** Returns what the catalogue knows about the model that is typed; empty if the catalogue has not been read. */
function useCatalogueHint(name: string, enabled: boolean): string {
  const { data } = useRead(modelCatalogue.get, {}, { enabled });
  if (!data || !name) return '';
  const own_name = name.split('/').at(-1)!;
  const known = data.models.find(({ id, aliases }) => id === own_name || aliases.includes(own_name));
  if (!known) return 'The catalogue does not have this model: no price known.';
  const end = known.ends_on ? ` It ends on ${known.ends_on}.` : '';
  if (!known.price) return `No price known.${end}`;
  return `${formatMoney(known.price.input)} in and ${formatMoney(known.price.output)} out per million tokens.${end}`;
}

function TestRow({ model: { test, runTest } }: { model: ModelChoice }) {
  return (
    <Group>
      <Button variant="default" loading={test.isPending} data-needs={providers.testDraft.access} onClick={runTest}>
        Test
      </Button>
      {test.data && (
        <TestVerdict
          good={test.data.success}
          yes={`Connected: ${formatCount(test.data.models.length, 'model')}`}
          no={test.data.error}
        />
      )}
      {!test.data && !test.error && (
        <Text size="xs" c="dimmed">
          Lists the available models and stores nothing.
        </Text>
      )}
      <FailureBelow problem={test.error} />
    </Group>
  );
}
