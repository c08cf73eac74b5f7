/** The page of the API reference. Its scripts are files, because the security policy refuses inline ones. */
export const REFERENCE_PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Perdura API reference</title>
    <link rel="icon" href="data:,">
    <script src="/docs/start.js"></script>
    <script src="/docs/scalar.js" defer></script>
  </head>
  <body>
    <div id="app"><p>Loading the API reference …</p></div>
    <noscript><p>The API reference needs JavaScript. The same description is at <a href="/openapi.json">/openapi.json</a>.</p></noscript>
  </body>
</html>
`;

/** Languages that Scalar writes samples in. The samples of Perdura's own clients are in the description. */
const OTHER_LANGUAGES =
  'c clojure csharp dart fsharp go http java js julia kotlin node objc ocaml php powershell python r ruby rust swift'.split(' ');

/**
 * What Scalar's own page lacks: colours with enough contrast (WCAG AA) in both themes, buttons of at least 24 pixels, and lists
 * of operations that scroll with the page, because the keyboard does not reach them.
 */
const STYLE = `
.light-mode { --scalar-color-2: #55595f; --scalar-color-3: #62666d; --scalar-color-blue: #005ea2; --scalar-color-green: #006b45;
  --scalar-color-orange: #a13d00; --scalar-color-red: #b3001b; --scalar-color-purple: #5b21b6; --scalar-color-yellow: #7a5600; --scalar-color-accent: #005ea2; }
.dark-mode { --scalar-color-2: #b4b8bf; --scalar-color-3: #a3a8b0; --scalar-color-blue: #63b7ff; --scalar-color-green: #4cc38a;
  --scalar-color-orange: #ff9d5c; --scalar-color-red: #ff8a8a; --scalar-color-purple: #c4a7ff; --scalar-color-yellow: #f6c945; --scalar-color-accent: #63b7ff; }
button { min-width: 24px; min-height: 24px; }
.endpoints, .scalar-card-content:has(> .endpoints) { max-height: none; overflow: visible !important; overflow-wrap: anywhere; }
`;

/** How Scalar presents the description. Nothing may leave this origin: no fonts, no telemetry, no proxy, no assistant. */
const CONFIGURATION = {
  url: '/openapi.json',
  persistAuth: true,
  telemetry: false,
  withDefaultFonts: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  agent: { disabled: true },
  mcp: { disabled: true },
  customCss: STYLE,
  metaData: { title: 'Perdura API reference' },
  authentication: { preferredSecurityScheme: 'access_token' },
  hiddenClients: { ...Object.fromEntries(OTHER_LANGUAGES.map((name) => [name, true])), shell: ['httpie', 'wget'] },
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
};

/**
 * Starts Scalar. It keeps what it stores, the access token included, in `localStorage`, where the next user of the browser
 * would find it: this page gives it the storage of the tab instead. The setting of zod keeps Scalar from trying to compile
 * code, which the security policy refuses with an error in the console. Its buttons *Show More* have a name without these words,
 * by which speech control would look for them.
 */
export const REFERENCE_START = `Object.defineProperty(window, 'localStorage', { value: window.sessionStorage });
globalThis.__zod_globalConfig = { jitless: true };
document.addEventListener('DOMContentLoaded', () => {
  const app = document.querySelector('#app');
  app.replaceChildren();
  const buttons = app.getElementsByClassName('show-more');
  new MutationObserver(() => {
    for (const button of buttons) button.ariaLabel = button.ariaLabel.replace(/^Show(?= all)/, button.textContent.trim() + ':');
  }).observe(app, { childList: true, subtree: true });
  Scalar.createApiReference('#app', ${JSON.stringify(CONFIGURATION)});
});
`;
