import type { KnownModel } from '../../src/domain/known-models.ts';

/** Returns an entry of a catalogue, with nothing known but what is given. */
export const knownModel = (facts: Partial<KnownModel>): KnownModel => ({
  id: 'm-7',
  aliases: [],
  vendor: 'openai',
  price: null,
  context_window: null,
  max_output: null,
  efforts: null,
  modalities: { input: ['text'], output: ['text'] },
  tools: null,
  structured_output: null,
  deprecated_on: null,
  ends_on: null,
  successor: null,
  source: 'https://vendor.example/models',
  as_of: '2031-01-02',
  ...facts,
});
