import type { Checks } from '../api/service/health.ts';
import { bytesText, changePerDay, changeText, daysUntilFull } from '../domain/sizes.ts';
import { measureSizes } from '../temporal/repair/sizes.ts';
import type { SharedServices } from './core.ts';

const LARGEST_TABLES = 4;

/** How large the installation is and how fast it grows, for `doctor`. Workers note the size every hour. */
export function sizeChecks({ store, setting: { config } }: SharedServices): Checks {
  const now = measureSizes(store, config);
  // Each check reports it.
  now.catch(() => {});
  const samples = async () => [...(await store.sizes.samples()), await now];
  return {
    async 'size of the database'() {
      const tables = await store.sizes.largestTables(LARGEST_TABLES);
      const largest = tables.map(({ name, bytes }) => `${name} ${bytesText(bytes)}`).join(', ');
      return `${bytesText((await now).database)}, ${changeText(changePerDay(await samples(), 'database'))}; largest: ${largest}`;
    },
    async 'size of the engine'() {
      const { engine } = await now;
      if (engine === null) return 'unknown, because it is not the embedded one';
      return `${bytesText(engine)}, ${changeText(changePerDay(await samples(), 'engine'))}`;
    },
    async 'size of the home'() {
      const { home } = await now;
      if (home === null)
        return `unknown, because this machine does not have ${config.PERDURA_HOME}, or it has too many files to count`;
      return `${bytesText(home)} in ${config.PERDURA_HOME}, ${changeText(changePerDay(await samples(), 'home'))}`;
    },
    async disk() {
      const { disk_free } = await now;
      if (disk_free === null) return `unknown, because this machine does not have ${config.PERDURA_HOME}`;
      const change = changePerDay(await samples(), 'disk_free');
      const days = daysUntilFull(disk_free, change);
      const until = days === null ? '' : `, full in about ${daysText(Math.max(1, Math.round(days)))} at this rate`;
      return `${bytesText(disk_free)} free, ${changeText(change)}${until}`;
    },
  };
}

const daysText = (days: number) => (days === 1 ? 'a day' : `${days} days`);
