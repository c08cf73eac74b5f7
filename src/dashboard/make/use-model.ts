import { useMutation } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { type ProviderPreset, providers } from '../../contracts/providers.ts';
import type { ApiProblem, ApiReply } from '../api/call.ts';
import { useClient } from '../api/context.tsx';
import { useRead } from '../api/queries.ts';
import { CARDS, type Card, isDemo, type Typed, toEndpoint } from './cards.ts';

export type ModelChoice = ReturnType<typeof useModel>;
type ModelFaults = Partial<Record<keyof Typed | 'existing', string>>;
type Tested = ApiReply<typeof providers.test>;

const DEMO = {
  id: 'demo',
  title: 'Demo model',
  about: 'A script that calls tools but does not understand text. Needs no API key.',
};
const EXISTING = { id: 'existing', title: 'Existing provider', about: 'One of the providers you have set up.' };
const MOST = 1_000;

const initial = ({ id, address, model, is_preset }: Card, presets: readonly ProviderPreset[]): Typed => {
  const suggested = is_preset ? presets.find((preset) => preset.id === id)?.model_example : model;
  return { key: '', address: address?.initial ?? '', model: suggested ?? '' };
};

/** Holds the choices and inputs about the model, and the result of a test. */
export function useModel() {
  const provider_query = useRead(providers.list, { query: { limit: MOST } });
  const { data: presets = [] } = useRead(providers.presets);
  const stored = provider_query.data?.items ?? [];
  const demo = stored.find(isDemo);
  const choices = [...(demo ? [DEMO] : []), ...CARDS, ...(stored.some((one) => !isDemo(one)) ? [EXISTING] : [])];
  const [picked, setPicked] = useState<string | null>(null);
  const card_id = picked ?? (demo ? DEMO.id : CARDS[0]!.id);
  const card = CARDS.find(({ id }) => id === card_id);
  const [texts, setTexts] = useState<Record<string, Typed>>({});
  const [existing, setExisting] = useState<string | null>(null);
  const [faults, setFaults] = useState<ModelFaults>({});
  const [replaced, setReplaced] = useState<string | null>(null);
  const typed = texts[card_id] ?? (card ? initial(card, presets) : { key: '', address: '', model: '' });
  const provider_id = card_id === DEMO.id ? (demo?.id ?? null) : card_id === EXISTING.id ? existing : null;

  const type = (name: keyof Typed, value: string) =>
    setTexts((before) => ({ ...before, [card_id]: { ...(before[card_id] ?? typed), [name]: value } }));
  const test = useTest();
  const latest_model = useRef(typed.model);
  latest_model.current = typed.model;
  /** Chooses a model of the server: that of the one that was tested before need not exist on this one. */
  const takeOffered = ({ models: [first, ...others] }: Tested) => {
    const model = latest_model.current;
    if (card?.model !== '' || !first || first === model || others.includes(model)) return;
    setReplaced(model || null);
    type('model', first);
  };
  /** Returns the missing or wrong fields; empty if the model is ready to run. */
  const check = (options: { testing?: boolean } = {}) => {
    const errors = findFaults({ card, typed, provider_id }, options);
    setFaults(errors);
    return Object.keys(errors).length === 0;
  };
  const forget = () => {
    test.reset();
    setReplaced(null);
    setFaults({});
  };
  return {
    known: provider_query,
    stored,
    choices,
    chosen: card_id,
    card,
    typed,
    existing,
    provider_id,
    faults,
    test,
    check,
    dirty: Object.keys(texts).length > 0,
    /** The typed model that the last test replaced, because the endpoint does not offer it. */
    replaced,
    offered: test.data?.models ?? [],
    choose(id: string) {
      setPicked(id);
      forget();
    },
    setExisting(id: string | null) {
      setExisting(id);
      forget();
    },
    type: (name: keyof Typed, value: string) => {
      type(name, value);
      if (name === 'model') setReplaced(null);
      else forget();
    },
    runTest() {
      if (!check({ testing: true })) return;
      const read = card && toEndpoint(card, typed, { testing: true });
      // Unlike a callback of the mutation itself, this one is not called once the card or its address is another one.
      const options = { onSuccess: takeOffered };
      if (read && 'endpoint' in read) test.mutate({ ...read.endpoint, api_key: typed.key.trim() || null }, options);
      else if (provider_id) test.mutate({ id: provider_id });
    },
  };
}

type Facts = { card: Card | undefined; typed: Typed; provider_id: string | null };

function findFaults({ card, typed, provider_id }: Facts, options: { testing?: boolean }): ModelFaults {
  if (!card) return provider_id ? {} : { existing: 'Choose a provider' };
  const read = toEndpoint(card, typed, options);
  return 'faults' in read ? Object.fromEntries(read.faults.map(({ field, message }) => [field, message])) : {};
}

/** Tests a stored provider, or an endpoint that has only been entered so far. */
function useTest() {
  const { call } = useClient();
  return useMutation<
    Tested,
    ApiProblem,
    { id: string } | NonNullable<Parameters<typeof call<typeof providers.testDraft>>[1]>['body']
  >({
    mutationFn: (target) =>
      target && 'id' in target
        ? call(providers.test, { params: { id: target.id } })
        : call(providers.testDraft, { body: target }),
  });
}
