import { randomBytes } from 'node:crypto';
import { asOperator } from './operator.ts';

/** Another user of a migrated database, whose connections can be used up: a limit does not apply to a superuser. */
export interface LimitedRole {
  url: string;
  /** Ends its connections and allows no more. */
  exhaust(): Promise<void>;
  giveBack(): Promise<void>;
  drop(): Promise<void>;
}

/** Creates the role. `url` is the database as its superuser sees it. */
export async function limitedRole(url: string): Promise<LimitedRole> {
  const role = `limited_${randomBytes(4).toString('hex')}`;
  const ask = (sql: string) => asOperator(url, (operator) => operator.query(sql));
  await ask(
    `CREATE ROLE ${role} LOGIN PASSWORD 'limited';
     GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role}; GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO ${role}`,
  );
  const limited = new URL(url);
  Object.assign(limited, { username: role, password: 'limited' });
  return {
    url: limited.href,
    async exhaust() {
      await ask(`ALTER ROLE ${role} CONNECTION LIMIT 0`);
      await ask(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${role}'`);
    },
    giveBack: async () => void (await ask(`ALTER ROLE ${role} CONNECTION LIMIT -1`)),
    drop: async () => void (await ask(`DROP OWNED BY ${role}; DROP ROLE ${role}`)),
  };
}
