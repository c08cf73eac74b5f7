import { describe, expect, it } from 'vitest';
import { ProviderDraft } from '../../src/contracts/providers.ts';
import { CARDS, toEndpoint } from '../../src/dashboard/make/cards.ts';
import { PROVIDER_PRESETS } from '../../src/domain/provider-presets.ts';

const cardOf = (id: string) => CARDS.find((card) => card.id === id)!;
const typed = (address = '') => ({ key: 'a key', address, model: 'm' });

describe('the cards of vendors', () => {
  it.each(PROVIDER_PRESETS.map((preset) => [preset.id, preset] as const))(
    '%s has what its preset says',
    (id, { base_url, provider_type }) => {
      const card = cardOf(id);
      const found = toEndpoint(card, typed(card.address?.initial));
      expect(found).toMatchObject({ endpoint: { provider_type, base_url } });
      expect(card.model).toBe('');
      expect(() => ProviderDraft.parse({ name: 'mine', ...('endpoint' in found && found.endpoint) })).not.toThrow();
    },
  );

  it('takes the Region of Bedrock from its address', () => {
    const base_url = 'https://bedrock-runtime.eu-west-1.amazonaws.com/openai/v1';
    expect(toEndpoint(cardOf('bedrock'), typed(base_url))).toEqual({
      endpoint: { provider_type: 'openai_compatible', base_url },
    });
  });

  it('names the field that lacks something', () => {
    expect(toEndpoint(cardOf('mistral'), { ...typed(), key: ' ' })).toMatchObject({ faults: [{ field: 'key' }] });
    expect(toEndpoint(cardOf('bedrock'), typed('eu-west-1'))).toMatchObject({ faults: [{ field: 'address' }] });
  });
});
