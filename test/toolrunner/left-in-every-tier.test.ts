import { describe, expect, it } from 'vitest';
import { listFaults } from '../support/machine/scenes/outcomes.ts';
import { ACCOUNTS, playStage } from '../support/machine/scenes/play.ts';
import { SYSTEM_PYTHON } from '../support/machine/system-python.ts';
import { MAIN_TIERS } from './support.ts';

const TIERS = [...Object.keys(MAIN_TIERS).map((tier) => ({ tier })), { isolation: 'none' }];
const PATIENCE_MS = 600_000;

describe.skipIf(process.platform !== 'linux').each(Object.keys(ACCOUNTS))('%s leaves nothing on the machine', (account) => {
  const playAll = async (stage: string, tiers: object[]) => {
    const reports = await Promise.all(
      tiers.map(async (tier) => {
        const report = await playStage(stage, { account, options: { python: SYSTEM_PYTHON, ...tier } });
        expect(Object.keys(report.scenes).length).toBeGreaterThan(5);
        return listFaults(report).map((fault) => `${JSON.stringify(tier)} ${fault}`);
      }),
    );
    return reports.flat();
  };

  it.each(['tools', 'commands', 'servers'])('after %s in every tier', { timeout: PATIENCE_MS }, async (stage) => {
    expect(await playAll(stage, TIERS)).toEqual([]);
  });

  it.each(['checkouts', 'backups'])('after %s', { timeout: PATIENCE_MS }, async (stage) => {
    expect(await playAll(stage, [{}])).toEqual([]);
  });
});
