/** A package of a registry, whose program is an MCP server. */
export interface PackageLaunch {
  registry: 'npm' | 'pypi';
  /** The packages to install; without `program`, the first names it. */
  specs: string[];
  program: string | null;
  /** The number of the launcher's arguments before the program's own. */
  used: number;
}

const NPM_SPEC = /^(?:@[a-z\d][\w.-]*\/)?[a-z\d][\w.-]*(?:@[\w.^~<>=*+-]+)?$/i;
const PYPI_SPEC = /^[a-z\d][\w.-]*(?:\[[\w,.-]+\])?(?:@[\w.+!-]+|(?:[=<>~!]=|[<>])[\w.*+!,<>=~-]+)?$/i;
const PROGRAM = /^[a-z\d][\w.-]*$/i;

const LAUNCHERS = {
  npx: { registry: 'npm', spec: NPM_SPEC, ignored: ['-y', '--yes', '-q', '--quiet', '--'], packages: ['-p', '--package'] },
  uvx: { registry: 'pypi', spec: PYPI_SPEC, ignored: ['-q', '--quiet', '--'], packages: ['--from', '--with'] },
} as const;

/** Returns `npx` or `uvx`, also for an absolute path; undefined for any other command. */
export const findLauncher = (command: string): 'npx' | 'uvx' | undefined => /^(?:\/\S*\/)?(npx|uvx)$/.exec(command)?.[1] as never;

/**
 * Parses the arguments of `npx` and `uvx` as far as they name packages of a registry. Returns null for other commands and for
 * unsupported arguments: options, addresses, folders, and templates, because a specifier is shown in lists and errors.
 */
export function parsePackageLaunch(command: string, args: readonly string[]): PackageLaunch | null {
  const launcher = findLauncher(command);
  if (!launcher) return null;
  const { registry, spec, ignored, packages } = LAUNCHERS[launcher];
  const specs: string[] = [];
  let has_package = false;
  let used = 0;
  for (; used < args.length && args[used]?.startsWith('-'); used += 1) {
    const [option = '', inline_value] = (args[used] as string).split(/=(.*)/s);
    if ((ignored as readonly string[]).includes(args[used] as string)) continue;
    if (!(packages as readonly string[]).includes(option)) return null;
    if (inline_value === undefined) used += 1;
    const value = inline_value ?? args[used] ?? '';
    // `--with` adds to the package that the command names.
    if (option === '--with') specs.push(value);
    else {
      specs.unshift(value);
      has_package = true;
    }
  }
  const first = args[used];
  if (first === undefined) return null;
  if (!has_package) specs.unshift(first);
  if (!specs.every((it) => spec.test(it)) || (has_package && !PROGRAM.test(first))) return null;
  const program = has_package ? first : registry === 'pypi' ? bareName(first) : null;
  return { registry, specs: registry === 'pypi' ? specs.map(requirement) : specs, program, used: used + 1 };
}

const bareName = (spec: string) => spec.split(/[@[=<>~!]/, 1)[0] as string;

/** Converts uvx's `name@1.2` to pip's `name==1.2`. */
const requirement = (spec: string) => spec.replace(/@latest$/, '').replace('@', '==');

/** Returns the name of an npm package without its version. Its first character may be the `@` of a scope. */
export function npmName(spec: string): string {
  const at = spec.indexOf('@', 1);
  return at === -1 ? spec : spec.slice(0, at);
}
