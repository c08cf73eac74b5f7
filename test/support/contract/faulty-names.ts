import dns from 'node:dns';

/**
 * Makes the system resolve a name to this machine. If `refusal` returns a code, the lookup fails with it. This applies to
 * everything that Node dials in this process. The returned function ends it.
 */
export function nameTo(known: string, refusal: () => string | null): () => void {
  const { lookup } = dns;
  const { lookup: promised } = dns.promises;
  const refused = () => {
    const code = refusal();
    return code && Object.assign(new Error(`getaddrinfo ${code} ${known}`), { code, syscall: 'getaddrinfo', errno: -1 });
  };
  const HERE = { address: '127.0.0.1', family: 4 };
  dns.lookup = ((name: string, options: dns.LookupOptions, callback: (...answer: unknown[]) => void) => {
    if (name !== known) return lookup(name, options, callback as never);
    const error = refused();
    if (error) return callback(error);
    return options.all ? callback(null, [HERE]) : callback(null, HERE.address, HERE.family);
  }) as never;
  dns.promises.lookup = (async (name: string, options: dns.LookupOptions) => {
    if (name !== known) return promised(name, options);
    const error = refused();
    if (error) throw error;
    return options?.all ? [HERE] : HERE;
  }) as never;
  return () => {
    dns.lookup = lookup;
    dns.promises.lookup = promised;
  };
}
