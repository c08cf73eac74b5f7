import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** A Python interpreter. It is queried only once: `python3` may be a shim that costs 100 ms each time. */
export interface Interpreter {
  executable: string;
  version: string;
  prefix: string;
  base_prefix: string;
  /** The directories of installed packages. */
  site_packages: string[];
}

/** There is no usable interpreter. The message is a sentence for the operator. */
export class NoInterpreter extends Error {}

const QUESTION = `
import json, sys, sysconfig
paths = sysconfig.get_paths()
print(json.dumps({
  "executable": sys.executable, "version": "%d.%d.%d" % sys.version_info[:3],
  "prefix": sys.prefix, "base_prefix": sys.base_prefix,
  "site_packages": sorted({paths["purelib"], paths["platlib"]}),
}))`;

/** Finds the interpreter; throws `NoInterpreter` if there is none. */
export async function findInterpreter(python: string): Promise<Interpreter> {
  const answer = await ask(python);
  const [major = 0, minor = 0] = answer.version.split('.').map(Number);
  if (major !== 3 || minor < 9)
    throw new NoInterpreter(`Tools need Python 3.9 or newer; ${answer.executable} is ${answer.version}`);
  return answer;
}

async function ask(python: string): Promise<Interpreter> {
  try {
    const { stdout } = await promisify(execFile)(python, ['-I', '-c', QUESTION], { timeout: 20_000 });
    return JSON.parse(stdout) as Interpreter;
  } catch (reason) {
    throw new NoInterpreter(
      `There is no usable Python interpreter at "${python}": install Python 3.9 or newer, or set TOOLRUNNER_PYTHON`,
      {
        cause: reason,
      },
    );
  }
}
