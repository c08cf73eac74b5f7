import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** A Python interpreter, asked once: `python3` may be a shim that costs 100 ms each time. */
export interface Interpreter {
  executable: string;
  version: string;
  prefix: string;
  base_prefix: string;
  /** Where installed packages live. */
  site_packages: string[];
}

const QUESTION = `
import json, sys, sysconfig
paths = sysconfig.get_paths()
print(json.dumps({
  "executable": sys.executable, "version": "%d.%d.%d" % sys.version_info[:3],
  "prefix": sys.prefix, "base_prefix": sys.base_prefix,
  "site_packages": sorted({paths["purelib"], paths["platlib"]}),
}))`;

/** Throws a sentence for the operator if there is no usable interpreter. */
export async function findInterpreter(python: string): Promise<Interpreter> {
  const answer = await ask(python);
  const [major = 0, minor = 0] = answer.version.split('.').map(Number);
  if (major !== 3 || minor < 9) throw new Error(`Tools need Python 3.9 or newer; ${answer.executable} is ${answer.version}`);
  return answer;
}

async function ask(python: string): Promise<Interpreter> {
  try {
    const { stdout } = await promisify(execFile)(python, ['-I', '-c', QUESTION], { timeout: 20_000 });
    return JSON.parse(stdout) as Interpreter;
  } catch (reason) {
    throw new Error(`No usable Python interpreter at "${python}"`, { cause: reason });
  }
}
