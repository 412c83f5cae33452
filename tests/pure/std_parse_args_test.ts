// The same tests pass with the real @std/cli and with tools/std/parse_args.ts.

import { assertEquals } from "@std/assert";
import { parseArgs } from "@std/cli/parse-args";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true
  : false;

/** Checked by the compiler alone. */
function assertType<T extends true>(_: T): void {}

Deno.test("parseArgs() types options by how they are declared", () => {
  const flags = parseArgs([], {
    string: ["device", "port", "flow"],
    boolean: ["help", "predict"],
    collect: ["flow", "extra"],
    negatable: ["predict"],
    default: { port: "1", predict: true },
    alias: { help: "h" },
    "--": true,
  });
  assertType<Same<typeof flags.device, string | undefined>>(true);
  assertType<Same<typeof flags.port, string>>(true);
  assertType<Same<typeof flags.help, boolean>>(true);
  assertType<Same<typeof flags.h, boolean>>(true);
  assertType<Same<typeof flags.predict, boolean>>(true);
  assertType<Same<typeof flags.flow, string[]>>(true);
  assertType<Same<typeof flags.extra, unknown[]>>(true);
  assertType<Same<typeof flags.other, unknown>>(true);
  assertType<Same<typeof flags._, (string | number)[]>>(true);
  assertType<Same<(typeof flags)["--"], string[]>>(true);
  assertEquals<unknown>(flags, {
    port: "1",
    help: false,
    h: false,
    predict: true,
    flow: [],
    "--": [],
    _: [],
  });
});

Deno.test("parseArgs() types a default of another type and a negated string", () => {
  const flags = parseArgs(["--no-gid"], {
    string: ["count", "gid"],
    negatable: ["gid"],
    default: { count: 4 },
  });
  assertType<Same<typeof flags.count, string | number>>(true);
  assertType<Same<typeof flags.gid, string | false | undefined>>(true);
  assertEquals<unknown>(flags, { count: 4, gid: false, _: [] });
});

Deno.test("parseArgs() takes anything when nothing is declared", () => {
  const flags = parseArgs(["--device", "rxe0", "-p", "7", "-v", "--", "x"]);
  assertEquals<unknown>(flags.device.length, 4);
  assertEquals<unknown>(flags, { device: "rxe0", p: 7, v: true, _: ["x"] });
});

Deno.test("parseArgs() leaves text alone and turns the rest into numbers", () => {
  assertEquals<unknown>(
    parseArgs(["--a", "010", "--b=010", "1e3", "0x10", " "], { string: "a" }),
    { a: "010", b: 10, _: [1000, 16, " "] },
  );
  assertEquals<unknown>(parseArgs(["12"], { string: "_" }), { _: ["12"] });
});

Deno.test("parseArgs() takes no value for a boolean but true and false", () => {
  const options = { boolean: ["a", "b"] } as const;
  assertEquals<unknown>(parseArgs(["--a", "x"], options), { a: true, b: false, _: ["x"] });
  assertEquals<unknown>(parseArgs(["--a", "false", "-b", "true"], options), {
    a: false,
    b: true,
    _: [],
  });
  assertEquals<unknown>(parseArgs(["--a=false", "--b=x"], options), { a: false, b: true, _: [] });
  assertEquals<unknown>(parseArgs(["--x", "y"], { boolean: true }), { x: true, _: ["y"] });
});

Deno.test("parseArgs() gives a text option without a value the empty text", () => {
  assertEquals<unknown>(parseArgs(["--a", "-b"], { string: ["a", "b"] }), { a: "", b: "", _: [] });
  assertEquals<unknown>(parseArgs(["--a="], { string: ["a"] }), { a: "", _: [] });
});

Deno.test("parseArgs() reads clusters of letters with values attached", () => {
  assertEquals<unknown>(parseArgs(["-abc", "x"]), { a: true, b: true, c: "x", _: [] });
  assertEquals<unknown>(parseArgs(["-n5", "-p=6"]), { n: 5, p: 6, _: [] });
  assertEquals<unknown>(parseArgs(["-I/usr/include", "-f-"]), { I: "/usr/include", f: "-", _: [] });
  assertEquals<unknown>(parseArgs(["-"]), { _: ["-"] });
});

Deno.test("parseArgs() keeps the last of repeated options unless they are collected", () => {
  assertEquals<unknown>(parseArgs(["--a", "1", "--a", "2"]), { a: 2, _: [] });
  assertEquals<unknown>(
    parseArgs(["--a", "1", "-x", "--a=2"], { collect: ["a", "x", "y"] }),
    { a: [1, 2], x: [true], _: [] },
  );
});

Deno.test("parseArgs() negates only what is negatable", () => {
  assertEquals<unknown>(parseArgs(["--no-a", "--no-b"], { negatable: ["a"] }), {
    a: false,
    "no-b": true,
    _: [],
  });
});

Deno.test("parseArgs() sets every alias", () => {
  assertEquals<unknown>(
    parseArgs(["-d", "rxe0"], { string: ["device"], alias: { device: ["d", "dev"] } }),
    { device: "rxe0", d: "rxe0", dev: "rxe0", _: [] },
  );
});

Deno.test("parseArgs() asks about unknown arguments and drops those refused", () => {
  const asked: unknown[][] = [];
  const flags = parseArgs(["--port", "1", "--bad=2", "-x", "file"], {
    string: ["port"],
    unknown: (...question) => {
      asked.push(question);
      return false;
    },
  });
  assertEquals<unknown>(flags, { port: "1", _: [] });
  assertEquals<unknown>(asked, [["--bad=2", "bad", "2"], ["-x", "x", "file"]]);
});

Deno.test("parseArgs() stops at the first operand when told so", () => {
  assertEquals<unknown>(parseArgs(["-a", "--", "-b"], { boolean: "a" }), { a: true, _: ["-b"] });
  assertEquals<unknown>(
    parseArgs(["--a", "x", "cmd", "--b", "1"], { stopEarly: true }),
    { a: "x", _: ["cmd", "--b", "1"] },
  );
});

Deno.test("parseArgs() separates what follows the double dash when told so", () => {
  assertEquals<unknown>(parseArgs(["x", "--", "-b"], { "--": true }), { _: ["x"], "--": ["-b"] });
});

Deno.test("parseArgs() does not let an option replace a prototype", () => {
  const flags = parseArgs(["--__proto__", "x", "--constructor", "y"]);
  assertEquals<unknown>(Object.getPrototypeOf(flags), Object.prototype);
  assertEquals<unknown>(flags, { _: [] });
});
