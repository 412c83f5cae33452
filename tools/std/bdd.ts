/**
 * The part of @std/testing/bdd this project uses, for machines that cannot
 * reach JSR. It stands on `Deno.test` and not on `node:test`, because Deno runs
 * the tests of the latter without its sanitizers.
 *
 * @module
 */

type TestBody = (t: Deno.TestContext) => void | Promise<void>;
type Hook = () => void | Promise<void>;
type HookName = "beforeAll" | "afterAll" | "beforeEach" | "afterEach";
type Options = Partial<
  Pick<
    Deno.TestDefinition,
    "ignore" | "sanitizeExit" | "sanitizeOps" | "sanitizeResources"
  >
>;
type Arguments<Body> =
  | [name: string, body: Body]
  | [name: string, options: Options, body: Body];

/** A registering function and its form that ignores what it registers. */
export interface Register<Body> {
  /** Registers what `body` holds. */
  (...args: Arguments<Body>): void;
  /** Registers it as ignored. */
  ignore(...args: Arguments<Body>): void;
  /** Registers it as ignored. */
  skip(...args: Arguments<Body>): void;
}

class Suite {
  readonly hooks: Record<HookName, Hook[]> = {
    beforeAll: [],
    afterAll: [],
    beforeEach: [],
    afterEach: [],
  };
  readonly steps: Deno.TestStepDefinition[] = [];
  readonly parent: Suite | undefined;

  constructor(parent: Suite | undefined) {
    this.parent = parent;
  }

  async run(t: Deno.TestContext): Promise<void> {
    await runHooks(this.hooks.beforeAll);
    try {
      for (const step of this.steps) await t.step(step);
    } finally {
      await runHooks(this.hooks.afterAll);
    }
  }

  /** Surrounds one test with the hooks of this suite and of all around it. */
  async surround(test: Hook): Promise<void> {
    const inner = async (): Promise<void> => {
      await runHooks(this.hooks.beforeEach);
      try {
        await test();
      } finally {
        await runHooks(this.hooks.afterEach);
      }
    };
    await (this.parent ? this.parent.surround(inner) : inner());
  }
}

let current: Suite | undefined;
let started = false;

/** Registers a group of tests. */
export const describe: Register<() => void> = registering(addSuite);

/** Registers one test. */
export const it: Register<TestBody> = registering(addTest);

/** Runs `fn` before the first test of the group. */
export function beforeAll(fn: Hook): void {
  addHook("beforeAll", fn);
}

/** Runs `fn` after the last test of the group. */
export function afterAll(fn: Hook): void {
  addHook("afterAll", fn);
}

/** Runs `fn` before each test of the group and of the groups inside it. */
export function beforeEach(fn: Hook): void {
  addHook("beforeEach", fn);
}

/** Runs `fn` after each test of the group and of the groups inside it. */
export function afterEach(fn: Hook): void {
  addHook("afterEach", fn);
}

function addSuite(name: string, options: Options, body: () => void): void {
  const suite = new Suite(current);
  if (!options.ignore) fill(suite, body);
  register({ name, ...options, fn: (t) => suite.run(t) });
}

function fill(suite: Suite, body: () => void): void {
  const outer = current;
  current = suite;
  try {
    if ((body() as unknown) instanceof Promise) {
      throw new Error(
        "Cannot describe tests in a promise: describe() is synchronous",
      );
    }
  } finally {
    current = outer;
  }
}

function addTest(name: string, options: Options, body: TestBody): void {
  const suite = current;
  const fn: TestBody = (t) => suite ? suite.surround(() => body(t)) : body(t);
  register({ name, ...options, fn });
}

/** Only the outermost are tests of their own; Deno knows the rest as steps. */
function register(definition: Deno.TestDefinition): void {
  if (started) {
    throw new Error("Cannot register a test: tests are running already");
  }
  if (current) return void current.steps.push(definition);
  Deno.test({ ...definition, fn: (t) => begin(definition, t) });
}

async function begin(
  definition: Deno.TestDefinition,
  t: Deno.TestContext,
): Promise<void> {
  started = true;
  try {
    await definition.fn(t);
  } finally {
    started = false;
  }
}

function addHook(name: HookName, fn: Hook): void {
  if (!current) {
    throw new Error(`Cannot add ${name}(): it is outside describe()`);
  }
  current.hooks[name].push(fn);
}

async function runHooks(hooks: Hook[]): Promise<void> {
  for (const hook of hooks) await hook();
}

function registering<Body>(
  add: (name: string, options: Options, body: Body) => void,
): Register<Body> {
  function registerAs(options: Options, args: Arguments<Body>): void {
    if (args.length === 2) return add(args[0], options, args[1]);
    add(args[0], { ...args[1], ...options }, args[2]);
  }
  function ignore(...args: Arguments<Body>): void {
    registerAs({ ignore: true }, args);
  }
  const plain = (...args: Arguments<Body>): void => registerAs({}, args);
  return Object.assign(plain, { ignore, skip: ignore });
}
