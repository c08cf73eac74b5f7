import { afterAll, beforeAll, describe, it } from 'vitest';
import { LARGE_POISONS } from '../support/peers/poison-model.ts';
import { failsWith, type PoisonScene, startPoisonScene } from '../support/runs/poison-scene.ts';

let scene: PoisonScene;
beforeAll(async () => {
  // A busy machine needs its time to read as much as the limit allows.
  scene = await startPoisonScene({ total_seconds: 50 });
});
afterAll(() => scene?.stop());

describe('a model that sends', () => {
  it.each(Object.entries(LARGE_POISONS))('%s fails its run with its own error code, and is paid once', (_, poison) =>
    failsWith(scene, poison),
  );
});
