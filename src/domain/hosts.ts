/** Returns true if the server accepts a `Host`. This stops DNS rebinding: such a page sends the name it was loaded from. */
export type HostRule = (host: string | undefined) => boolean;

interface HostNames {
  /** The address that the server listens on. If it is all addresses (`0.0.0.0`, `::`), any address is accepted, but no name. */
  listening: string;
  /** Further accepted names; `*.example.com` accepts everything below one. */
  names?: readonly string[];
}

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];

export function hostRule({ listening, names = [] }: HostNames): HostRule {
  const everywhere = listening === '0.0.0.0' || listening === '::';
  const own = [...LOOPBACK, bracketAddress(listening), ...names].map((name) => name.toLowerCase());
  const below = own.filter((name) => name.startsWith('*.')).map((name) => name.slice(1));
  return (host) => {
    const name = parseHostName(host);
    if (name === null) return false;
    return own.includes(name) || below.some((suffix) => name.endsWith(suffix)) || (everywhere && isAddress(name));
  };
}

/** Creates the same rule for the `Origin` of a page, which is a URL or `null`. */
export const originRule =
  (isAllowedHost: HostRule): ((origin: string | undefined) => boolean) =>
  (origin) =>
    origin === undefined || (URL.canParse(origin) && isAllowedHost(new URL(origin).host));

/** Returns the host name without its port and a final dot, as the URL standard spells it; null if there is none. */
function parseHostName(host: string | undefined): string | null {
  const url = `http://${host}`;
  if (!host || /[/?#@\\\s]/.test(host) || !URL.canParse(url)) return null;
  return new URL(url).hostname.replace(/\.$/, '');
}

const isAddress = (name: string) => name.startsWith('[') || /^\d+\.\d+\.\d+\.\d+$/.test(name);
const bracketAddress = (address: string) => (address.includes(':') && !address.startsWith('[') ? `[${address}]` : address);
