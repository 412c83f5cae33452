// What is said where the permission for all libraries is missing, in each way in which it can be.
import { assertEquals, assertStringIncludes } from "@std/assert";
import { stub } from "@std/testing/mock";
import { askForFfi, whyNoFfi } from "../../ffi/permission.ts";
import { recorderPath } from "../provider/compile.ts";
import { runDeno } from "../subprocess.ts";

/** Who refuses: Deno, or a permission broker. */
const DENO = "Requires ffi access, run again with the --allow-ffi flag";
const BROKER = "not today";

/** What is said for a state of the flags, where somebody refuses; and what is printed on a terminal before. */
function said(
  state: Deno.PermissionState,
  refusal: string | undefined,
  isTerminal = false,
): {
  readonly said: string | undefined;
  readonly why: string | undefined;
  readonly printed: number;
} {
  let printed = 0;
  using stack = new DisposableStack();
  stack.use(stub(Deno.permissions, "querySync", () => ({ state }) as never));
  stack.use(stub(Deno.stdin, "isTerminal", () => isTerminal));
  stack.use(stub(Deno.stderr, "isTerminal", () => isTerminal));
  stack.use(stub(Deno.stderr, "writeSync", (bytes) => (printed++, bytes.length)));
  stack.use(stub(Deno.UnsafePointer, "create", () => {
    if (refusal === undefined) return null;
    throw new Deno.errors.NotCapable(refusal);
  }));
  const why = whyNoFfi();
  try {
    askForFfi();
    return { said: undefined, why, printed };
  } catch (error) {
    return { said: (error as Error).message, why, printed };
  }
}

Deno.test("askForFfi() tries what needs the permission, and says who refuses it", () => {
  const allowed = { said: undefined, why: undefined, printed: 0 };
  for (const state of ["granted", "prompt", "denied"] as const) {
    assertEquals(said(state, undefined), allowed);
    const { said: words, why } = said(state, BROKER);
    assertStringIncludes(words!, "the permission broker denies it: not today");
    assertStringIncludes(why!, "the permission broker denies it: not today");
  }
  assertStringIncludes(said("prompt", DENO).said!, "run again with --allow-ffi");
  assertStringIncludes(said("denied", DENO).said!, "without --deny-ffi");
  assertStringIncludes(said("granted", DENO).said!, "and the permission broker denies it");
});

Deno.test("askForFfi() says why before a person is asked, and whyNoFfi() asks none", () => {
  assertEquals(said("prompt", undefined, true), {
    said: undefined,
    why: "it needs --allow-ffi",
    printed: 1,
  });
  for (const state of ["granted", "denied"] as const) {
    assertEquals(said(state, undefined, true).printed, 0);
  }
});

const RECORDER = await recorderPath();
const LACKS =
  "Requires ffi access to all libraries: run again with --allow-ffi, without a list of paths";
const deniedFor = (some: string): string =>
  `Requires ffi access to all libraries, and it is denied for ${some}: run again with --allow-ffi and without --deny-ffi`;
const [NONE, SOME] = [deniedFor("all"), deniedFor("some")];

/** What a program may do by flags and by permission sets of deno.json, and what each use of a library says then. */
const TABLE: readonly (readonly [flags: string[], set: object | undefined, said: string])[] = [
  [[], undefined, LACKS],
  [["--allow-ffi"], undefined, "works"],
  [["--allow-all"], undefined, "works"],
  [[`--allow-ffi=${RECORDER}`], undefined, LACKS],
  [["--deny-ffi"], undefined, NONE],
  [["--allow-ffi", "--deny-ffi"], undefined, NONE],
  [["--allow-all", "--deny-ffi"], undefined, NONE],
  [["--allow-ffi", "--deny-ffi=/nowhere.so"], undefined, SOME],
  [["--allow-ffi", `--deny-ffi=${RECORDER}`], undefined, SOME],
  [["--allow-all", "--deny-ffi=/nowhere.so"], undefined, SOME],
  [[`--allow-ffi=${RECORDER}`, "--deny-ffi=/nowhere.so"], undefined, LACKS],
  [["-P"], { ffi: true }, "works"],
  [["-P"], { all: true }, "works"],
  [["-P"], {}, LACKS],
  [["-P"], { ffi: false }, LACKS],
  [["-P"], { ffi: [RECORDER] }, LACKS],
  [["-P"], { ffi: { allow: true, deny: ["/nowhere.so"] } }, SOME],
  [["-P"], { ffi: { deny: true } }, NONE],
];

/** Uses of each library, and of what needs the C library alone. */
const USES = `
  import { Context, listDevices } from "MOD/mod.ts";
  import { EventChannel } from "MOD/cm.ts";
  import { verbs } from "MOD/ffi/mod.ts";
  import { listenUd } from "MOD/net/mod.ts";
  const said = new Set();
  for (const use of [
    () => listDevices(),
    () => Context.open("recorder0").close(),
    () => verbs().ibv_get_device_list,
    () => listenUd({ device: "recorder0", qkey: 1 }).then((conn) => conn.close()),
    () => new EventChannel(),
  ]) {
    try {
      await use();
      said.add("works");
    } catch (error) {
      // Where the use is permitted, there may be no such device or library.
      const isRefused = error instanceof Deno.errors.NotCapable || !/recorder|librdmacm|event channel/.test(error.message);
      said.add(isRefused ? error.name + ": " + error.message : "works");
    }
  }
  console.log([...said].join("\\n"));`;

Deno.test("Each use of a library says how the permission for all libraries is missing", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const root = import.meta.resolve("../../").replace(/\/$/, "");
    await Deno.writeTextFile(`${folder}/use.ts`, USES.replaceAll("MOD", root));
    for (const [flags, set, said] of TABLE) {
      const config = set === undefined ? {} : { permissions: { default: { env: true, ...set } } };
      await Deno.writeTextFile(`${folder}/deno.json`, JSON.stringify(config));
      const options = ["--quiet", "--no-check", "--no-prompt", `--config=${folder}/deno.json`];
      const env = { IBVERBS_LIBRARY: RECORDER };
      const hasEnv = set !== undefined || flags.includes("--allow-all");
      const all = hasEnv ? flags : ["--allow-env=IBVERBS_LIBRARY", ...flags];
      const { stdout, stderr } = await runDeno(["run", ...options, ...all, `${folder}/use.ts`], {
        env,
      });
      const wanted = said === "works" ? said : `NotCapable: ${said}`;
      assertEquals([flags, set, stdout.trim()], [flags, set, wanted], stderr);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
