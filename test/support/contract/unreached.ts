import { parseSync } from 'vite';

interface Node {
  type: string;
  start: number;
  end: number;
  [part: string]: any;
}

export interface Unreached {
  rule: RuleName;
  line: number;
  text: string;
}

/** Finds an expectation that may never run, or that more than one outcome satisfies. */
type Rule = (node: Node, scene: Scene) => Node | null;

/** The body of a test, or of a function outside of tests. */
interface Scene {
  /** The variables of the scene, each with its first value; those of tables outside the scene are not among them. */
  values: Map<string, Node | null>;
  /** True if an expectation of the scene that is not part of `node` reads one of these variables. */
  expects(names: readonly string[], node: Node): boolean;
}

/** Returns the places where a source breaks the rules. */
export function listUnreached(file: string, source: string): Unreached[] {
  const { program, errors } = parseSync(file, source);
  if (errors[0]) throw new Error(`${file} cannot be parsed: ${errors[0].message}`);
  const found: Unreached[] = [];
  const visit = (node: Node, scene: Scene) => {
    const own = opensScene(node) ? sceneOf(node) : scene;
    for (const rule of RULE_NAMES) {
      const fault = RULES[rule](node, own);
      if (fault) found.push({ rule, line: source.slice(0, node.start).split('\n').length, text: textOf(fault, source) });
    }
    for (const child of childrenOf(node)) visit(child, own);
  };
  visit(program as unknown as Node, sceneOf(program as unknown as Node));
  return found;
}

const textOf = (node: Node, source: string) => source.slice(node.start, node.end).replaceAll(/\s+/g, ' ').slice(0, 100);

const childrenOf = (node: Node): Node[] =>
  Object.values(node)
    .flat()
    .filter((part) => typeof part?.type === 'string');
const isFunction = ({ type }: Node) => /^(?:ArrowFunctionExpression|FunctionExpression|FunctionDeclaration)$/.test(type);

function nodesIn(node: Node): Node[] {
  return [node, ...childrenOf(node).flatMap(nodesIn)];
}

/** True for a node that opens a scene: the callback of a test, which is a statement, and any declared function. */
const opensScene = (node: Node) =>
  node.type === 'FunctionDeclaration' ||
  (node.type === 'CallExpression' && /^(?:it|test|beforeEach|beforeAll|afterEach|afterAll)$/.test(rootOf(node) ?? ''));

/** Returns the variable with which an expression begins. */
function rootOf(node: Node | undefined): string | null {
  if (!node) return null;
  if (node.type === 'Identifier') return node.name;
  return rootOf(node.callee ?? node.object ?? node.argument ?? node.expression ?? node.tag);
}

/** True for `expect(…)` and `expect.poll(…)`. */
const isExpect = ({ type, callee }: Node) =>
  type === 'CallExpression' &&
  (callee.object ?? callee).name === 'expect' &&
  /^(?:poll|soft|undefined)$/.test(`${callee.property?.name}`);
const expectsIn = (node: Node) => nodesIn(node).filter(isExpect);

/** Returns the variables that an expression reads. */
function namesIn(node: Node): string[] {
  if (node.type === 'Identifier') return [node.name];
  if (node.type === 'MemberExpression' && !node.computed) return namesIn(node.object);
  if (node.type === 'Property') return namesIn(node.value);
  return childrenOf(node).flatMap(namesIn);
}

function sceneOf(node: Node): Scene {
  const values = new Map<string, Node | null>();
  // The variable of a loop gets its first value in the loop.
  const declared = node.type === 'Program' ? [] : nodesIn(node).filter(({ type, init }) => type === 'VariableDeclarator' && init);
  for (const { id, init } of declared) for (const name of namesIn(id)) values.set(name, id.type === 'Identifier' ? init : null);
  const expected = expectsIn(node);
  return {
    values,
    expects: (names, { start, end }) =>
      expected.some((one) => (one.start < start || one.start >= end) && namesIn(one).some((name) => names.includes(name))),
  };
}

/** True if the text itself shows that a list has entries. */
function hasEntries(node: Node | null | undefined, { values }: Scene): boolean {
  if (!node) return false;
  const inner = (part: Node | null | undefined) => hasEntries(part, { values } as Scene);
  if (node.type === 'ArrayExpression')
    return node.elements.length > 0 && !node.elements.every((one: Node) => one.type === 'SpreadElement' && !inner(one.argument));
  if (node.type === 'Identifier') return !values.has(node.name) || inner(values.get(node.name));
  if (node.type === 'CallExpression' || node.type === 'NewExpression') {
    const called = node.callee;
    if (called.type === 'MemberExpression' && /^(?:Array|Object|Promise)$/.test(called.object.name))
      return called.property.name === 'from' || inner(node.arguments[0]);
    if (called.type === 'MemberExpression' && /^(?:map|entries|keys|values|reverse|sort|toSorted)$/.test(called.property.name))
      return inner(called.object);
  }
  if (node.type === 'AwaitExpression') return node.argument.callee?.object?.name === 'Promise' && inner(node.argument);
  if (/^(?:TS.*Expression|ParenthesizedExpression|ChainExpression)$/.test(node.type)) return inner(node.expression);
  // A value made only of tables counts; an answer does not.
  if (nodesIn(node).some(({ type }) => type === 'AwaitExpression')) return false;
  return namesIn(node).length > 0 && namesIn(node).every((name) => !values.has(name));
}

/** Matches functions whose callers do not notice if the function that is passed to them fails. */
const HANDLED =
  /^(?:on|once|addEventListener|addListener|on[a-z]+|setTimeout|setInterval|setImmediate|queueMicrotask|createServer)$/;

const isMatcher = ({ type, callee }: Node, name: RegExp) =>
  type === 'CallExpression' && name.test(callee.property?.name ?? '') && /^expect$/.test(rootOf(callee) ?? '');

/** Returns the list of `list.method(…)`, and the method. */
const partsOf = (node: Node | undefined): [Node | null, string] =>
  node?.callee?.type === 'MemberExpression' ? [node.callee.object, node.callee.property.name] : [null, ''];

const RULES = {
  loop(node, scene) {
    if (node.type !== 'ForOfStatement' || expectsIn(node.body).length === 0 || hasEntries(node.right, scene)) return null;
    return scene.expects(
      namesIn(node.right).filter((name) => scene.values.has(name)),
      node,
    )
      ? null
      : node.right;
  },
  branch(node, scene) {
    if (node.type !== 'IfStatement') return null;
    const sides = [node.consequent, node.alternate].map((side) => side !== null && expectsIn(side).length > 0);
    if (sides[0] === sides[1]) return null;
    const local = namesIn(node.test).filter((name) => scene.values.has(name));
    return local.length === 0 || scene.expects(local, node) ? null : node.test;
  },
  every(node, scene) {
    if (!isMatcher(node, /^toBe$/)) return null;
    const [list, method] = partsOf(expectsIn(node.callee)[0]?.arguments[0]);
    const vacuous = `${method} ${node.arguments[0]?.value}`;
    if (!list || !/^(?:every true|some false)$/.test(vacuous) || hasEntries(list, scene)) return null;
    return scene.expects(namesIn(list), node) ? null : list;
  },
  handler(node) {
    const called =
      node.callee?.property?.name ?? node.callee?.name ?? (node.type === 'AssignmentExpression' && node.left.property?.name);
    if (!HANDLED.test(called || '')) return null;
    const given = node.type === 'AssignmentExpression' ? [node.right] : (node.arguments ?? []);
    return given.find((one: Node) => isFunction(one) && expectsIn(one).length > 0) ?? null;
  },
  alternation(node) {
    if (!isMatcher(node, /^(?:toMatch|toThrow|stringMatching)$/) || node.callee.object.property?.name === 'not') return null;
    const pattern: string = node.arguments[0]?.regex?.pattern ?? '';
    return pattern.replaceAll(/\\.|\[(?:\\.|[^\]])*\]/g, '').includes('|') ? node : null;
  },
  either(node) {
    if (isMatcher(node, /^(?:toBeOneOf|toSatisfy)$/)) return node;
    const either = isExpect(node) && node.arguments[0];
    return either?.type === 'LogicalExpression' && either.operator === '||' ? either : null;
  },
} satisfies Record<string, Rule>;

export type RuleName = keyof typeof RULES;
export const RULE_NAMES = Object.keys(RULES) as RuleName[];
