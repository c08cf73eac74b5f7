import type { Mutant } from './mutant.ts';

const api = (name: string) => ({ file: 'test/api/browser-sign-in.test.ts', name });
const OTHER_SITES = api('is refused for pages of other sites, as a bearer token, and outside of /api');
const CHECKS = api('needs the cookie of the browser that began, its state, and a code that is fresh');
const ENDS = api('ends with signing out, within seconds in every process, and closes open streams');

export default [
  {
    id: 'sign-in/same-site-is-enough',
    file: 'src/api/sign-in/same-origin.ts',
    text: "site === 'same-origin' ||",
    replacement: "site.startsWith('same-') ||",
    harm: 'A page on another host of the same domain acts as the person who is signed in.',
    tests: [OTHER_SITES],
  },
  {
    id: 'sign-in/bearer-session',
    file: 'src/api/http/auth.ts',
    text: 'token && isBrowserSession(token) ? null : token',
    replacement: 'token',
    harm: 'A session that leaked works for every program, without the checks of a browser.',
    tests: [OTHER_SITES],
  },
  {
    id: 'sign-in/any-state',
    file: 'src/api/sign-in/browser-sign-in.ts',
    text: 'if (!pending_login || (request.query as { state?: unknown }).state !== pending_login.state)',
    replacement: 'if (!pending_login)',
    harm: 'A link of someone else finishes a sign-in that this browser began, and shows as a failure of the issuer at best.',
    tests: [CHECKS],
  },
  {
    id: 'sign-in/login-never-expires',
    file: 'src/api/sign-in/browser-sign-in.ts',
    text: 'return login.expires_at > Date.now() ? login : null;',
    replacement: 'return login;',
    harm: 'A sign-in that was left open on a shared computer can be finished days later.',
    tests: [CHECKS],
  },
  {
    id: 'sign-in/planted-session-stays',
    file: 'src/api/sign-in/browser-sign-in.ts',
    text: 'if (before) await store.browserSessions.remove(before);',
    replacement: '',
    harm: 'The session that the browser had before stays valid after somebody else signs in.',
    tests: [api('starts a new session, whatever session the browser had before')],
  },
  {
    id: 'sign-in/returns-anywhere',
    file: 'src/api/sign-in/browser-sign-in.ts',
    text: 'const is_page = origin === base && ',
    replacement: 'const is_page = ',
    harm: 'A link to the sign-in leads to a foreign page that looks like the dashboard.',
    tests: [api('returns to pages of the dashboard only')],
  },
  {
    id: 'sign-in/cookie-only',
    file: 'src/api/sign-in/browser-sign-in.ts',
    text: '    await store.browserSessions.remove(session);\n',
    replacement: '',
    harm: 'Signing out forgets the cookie, but the person who has copied it stays signed in.',
    tests: [ENDS],
  },
  {
    id: 'sign-in/buttons-of-viewers',
    file: 'src/dashboard/ui/steady-button.tsx',
    text: 'refusal ? <PlainButton {...props} disabled title={refusal} />',
    replacement: 'refusal ? <PlainButton {...props} title={refusal} />',
    harm: 'A viewer clicks on buttons whose only answer is a refusal.',
    tests: [{ file: 'test/long/dashboard-viewer.test.ts', name: 'finds no enabled control that leads to a refusal' }],
  },
  {
    id: 'sign-in/people-without-a-subject',
    file: 'src/identity/oidc.ts',
    text: 'isSubject(payload.sub) ? toIdentity(payload, role_claim) : null',
    replacement: 'toIdentity(payload, role_claim)',
    harm: 'Two people whose issuer numbers them beyond what a double holds are one person.',
    tests: [{ file: 'test/api/oidc.test.ts', name: ' is of one person or refused' }],
  },
] satisfies Mutant[];
