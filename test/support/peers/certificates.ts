import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Certificates {
  /** The authority that signed the server's certificate. */
  ca: string;
  /** An authority that signed nothing. */
  other_ca: string;
  cert: string;
  key: string;
  folder: string;
  remove(): void;
}

/** Creates an authority, its certificate for localhost, and an authority that nobody uses. Only `owner` can read the key. */
export function makeCertificates(owner?: { uid: number; gid: number }): Certificates {
  const folder = mkdtempSync(join(tmpdir(), 'perdura-tls-'));
  chmodSync(folder, 0o755);
  const at = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe' });
  const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  for (const name of ['ca', 'other']) {
    openssl('req', '-x509', ...NEW_KEY, '-subj', `/CN=${name}`, '-keyout', at(`${name}.key`), '-out', at(`${name}.pem`));
  }
  openssl('req', ...NEW_KEY.slice(0, 5), '-subj', '/CN=localhost', '-keyout', at('server.key'), '-out', at('server.csr'));
  writeFileSync(at('names'), 'subjectAltName=DNS:localhost');
  const signed = ['-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-CAcreateserial', '-extfile', at('names'), '-days', '2'];
  openssl('x509', '-req', '-in', at('server.csr'), ...signed, '-out', at('server.pem'));
  chmodSync(at('server.key'), 0o600);
  if (owner) chownSync(at('server.key'), owner.uid, owner.gid);
  const remove = () => rmSync(folder, { recursive: true, force: true });
  return { ca: at('ca.pem'), other_ca: at('other.pem'), cert: at('server.pem'), key: at('server.key'), folder, remove };
}
