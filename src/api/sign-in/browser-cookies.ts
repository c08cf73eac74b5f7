import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * The cookies of the dashboard's sign-in: `session` for the session, and `login` for some minutes while a sign-in is in progress.
 */
type CookieName = 'session' | 'login';

export interface BrowserCookies {
  read(request: FastifyRequest, name: CookieName): string | null;
  set(reply: FastifyReply, name: CookieName, cookie: { value: string; seconds: number }): void;
  clear(reply: FastifyReply, name: CookieName): void;
}

/**
 * Reads and writes the cookies. Over https, the name's prefix makes browsers refuse it from other hosts of the same domain, which
 * could plant their own session.
 */
export function browserCookies(isSecure: () => boolean): BrowserCookies {
  const toCookieName = (name: CookieName) => `${isSecure() ? '__Host-' : ''}perdura-${name}`;
  const set: BrowserCookies['set'] = (reply, name, { value, seconds }) => {
    const attributes = `Path=/; HttpOnly; SameSite=Lax; Max-Age=${Math.floor(seconds)}${isSecure() ? '; Secure' : ''}`;
    // Fastify sends several cookies of one reply.
    reply.header('set-cookie', `${toCookieName(name)}=${value}; ${attributes}`);
  };
  return {
    set,
    clear: (reply, name) => set(reply, name, { value: '', seconds: 0 }),
    read({ headers: { cookie = '' } }, name) {
      const start = `${toCookieName(name)}=`;
      const parts = cookie.split(';').map((part) => part.trim());
      return parts.find((part) => part.startsWith(start))?.slice(start.length) || null;
    },
  };
}
