import { SAMPLE, SAMPLE_INSTRUCTIONS, SAMPLE_TOOL } from '../../contracts/sample.ts';
import { principalKey } from '../../domain/access.ts';
import type { Principal } from '../../store/people/principals.ts';
import type { Sample } from '../../store/resources/samples.ts';
import type { SharedServices } from '../core.ts';

interface Place {
  demo_model_url: string;
  /** The owner of the sample; null if nobody signs in with an installation token: then no one could run or delete it. */
  owner: Principal | null;
}

/** Adds the sample to a new installation, once, and updates the demo model's providers if its port changes. */
export async function prepareSample(
  { store, runner, log }: Pick<SharedServices, 'store' | 'runner' | 'log'>,
  { demo_model_url, owner }: Place,
): Promise<void> {
  await store.samples.moveDemoModel(demo_model_url, { name: SAMPLE.provider, model: SAMPLE.model });
  if (!owner || (await store.samples.isSettled())) return;
  const { valid, error, inferred_schema, description } = await runner.inspect(SAMPLE.tool, SAMPLE_TOOL);
  if (!valid) return log(`The sample is left out: its tool could not be inspected: ${error}`);
  const sample: Sample = {
    provider: {
      name: SAMPLE.provider,
      description: 'A script that understands nothing but calls tools. It needs no key and no network.',
      provider_type: 'openai_compatible',
      base_url: demo_model_url,
      default_model: SAMPLE.model,
    },
    tool: {
      name: SAMPLE.tool,
      description,
      source_code: SAMPLE_TOOL,
      effect: 'read',
      parameters_schema: inferred_schema as object,
    },
    agent: {
      name: SAMPLE.agent,
      description: 'The sample of a fresh installation. Change it or delete it: it does not come back.',
      system_prompt: SAMPLE_INSTRUCTIONS,
    },
    workflow: { title: SAMPLE.workflow, output_format: 'markdown' },
  };
  await store.samples.plant(sample, { key: principalKey(owner), login: owner.login });
}
