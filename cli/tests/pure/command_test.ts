import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { stub } from "@std/testing/mock";
import { choice, command, CommandError, flag, number, text } from "../../shell/command.ts";
import denoJson from "../../deno.json" with { type: "json" };
import { ran, recorder } from "./terminal.ts";

const seen: unknown[] = [];
const example = command({
  name: "example",
  summary: "Does nothing.",
  operands: "[FILE]",
  options: {
    "ib-dev": text("DEVICE", "the device", "d"),
    count: number("NUMBER", "how many", [1, 9], "n"),
    kind: choice(["a", "b"], "which"),
    verbose: flag("say more", "v"),
  },
  usageStatus: 255,
  run(values, _terminal, operands): number {
    seen.push({ ...values, operands });
    return 7;
  },
});

async function valuesOf(...args: string[]): Promise<unknown> {
  assertEquals(await example.run(args, recorder().terminal), 7);
  return seen.pop();
}

async function faultOf(...args: string[]): Promise<[string, number]> {
  const run = async () => await example.run(args, recorder().terminal);
  const { message, status } = await assertRejects(run, CommandError);
  return [message, status];
}

Deno.test("command() reads options and operands", async () => {
  const none = { verbose: false, json: false, help: false, operands: [] };
  assertEquals(await valuesOf(), none);
  assertEquals(await valuesOf("-d", "rxe0", "--count=0x09", "-v", "--json", "x", "-"), {
    "ib-dev": "rxe0",
    count: 9,
    verbose: true,
    json: true,
    help: false,
    operands: ["x", "-"],
  });
  assertEquals(await valuesOf("--kind", "b"), { ...none, kind: "b" });
});

Deno.test("command() refuses what it does not know, with the status of the C tool", async () => {
  assertEquals(await faultOf("--what"), ['"--what" is not an option', 255]);
  assertEquals(await faultOf("-d"), ["--ib-dev takes a text, not nothing", 255]);
  assertEquals(await faultOf("--ib-dev="), ["--ib-dev takes a text, not nothing", 255]);
  assertEquals(await faultOf("--json=yes"), ["--json takes no value", 255]);
  const range = "--count takes a whole number from 1 to 9, not ";
  for (const value of ["0", "10", "x", "1.5", "-1", "1e0", "0x1.", " 1"]) {
    const [message, status] = await faultOf(`--count=${value}`);
    assertEquals([message, status], [`${range}"${value}"`, 1]);
  }
  assertEquals(await faultOf("--kind=c"), ['--kind takes one of a, b, not "c"', 1]);
});

Deno.test("command() shows its help, whatever else is given", async () => {
  const recorded = recorder();
  assertEquals(await example.run(["--what", "-h", "--count=x"], recorded.terminal), 0);
  assertEquals(
    recorded.out,
    `Does nothing.

  example [OPTIONS] [FILE]

  -d, --ib-dev=DEVICE  the device
  -n, --count=NUMBER   how many
      --kind=a|b       which
  -v, --verbose        say more
      --json           print JSON; 64-bit numbers are strings
  -h, --help           show this text
`,
  );
});

Deno.test("run() refuses wrong command lines before it opens the library", async () => {
  for (
    const [args, status, message] of [
      [["nothing"], 1, '"nothing" is not a command; see --help\n'],
      [["--nothing"], 1, '"--nothing" is not an option; see --help\n'],
      [["nothing", "--version"], 1, '"nothing" is not a command; see --help\n'],
      [["devices", "x"], 1, 'devices: "x" is one argument too many; see devices --help\n'],
      [["devinfo", "-z"], 255, 'devinfo: "-z" is not an option; see devinfo --help\n'],
      [["devinfo", "-i", "0"], 1, "--ib-port takes a whole number from 1 to 255"],
      [["gids", "extra"], 1, 'gids: "extra" is one argument too many; see gids --help\n'],
      [["rping", "-C", "1"], 1, "rping: --count is for the client, and this is a server: there is"],
      [["rping", "-S", "31"], 1, "rping: --size takes a whole number from 32 to 65535, not"],
      [["rping", "one", "two"], 1, "rping: there is one host at most; see rping --help\n"],
      [["udaddy", "-C", "1001"], 1, "udaddy: --count takes a whole number from 1 to 1000, not"],
      [["udaddy", "-S", "4097"], 1, "udaddy: --size takes a whole number from 1 to 4096, not"],
      [["\x1b[2J"], 1, '"\\u001b[2J" is not a command'],
    ] as const
  ) {
    const ending = await ran(args);
    assertEquals([ending.status, ending.out], [status, ""]);
    assertStringIncludes(ending.err, message);
  }
});

Deno.test("run() says what a mistyped command or option probably is", async () => {
  for (
    const [line, meant] of [
      ["docter", "doctor"],
      ["Doctor", "doctor"],
      ["doc", "doctor"],
      ["dveices", "devices"],
      ["device", "devices"],
      ["help gidz", "gids"],
      ["ibv_devinfo -v", "devinfo"],
      ["show_gids", "gids"],
      ["pingpnog", "pingpong"],
      ["ping", "pingpong or rping"],
      ["rpign", "rping"],
      ["wacth --json", "watch"],
      ["per", "perf"],
      ["expalin 00", "explain"],
      ["--versoin", "--version"],
      ["-help", "--help"],
      ["gids --ib_dev=x", "--ib-dev"],
      ["gids --ibdev x", "--ib-dev"],
      ["devinfo --jsno", "--json"],
      ["watch --cuont 3", "--count"],
      ["perf --al", "--all"],
      ["rping --timout=3", "--timeout"],
      ["pingpong ud --reply-from", "--reply-from-wc"],
      ["pingpong --hlep", "--help"],
    ]
  ) {
    const { status, out, err } = await ran(line!.split(" "));
    assertEquals([status > 0, out], [true, ""], line);
    assertMatch(err, new RegExp(`; did you mean ${meant}\\? See (\\w+ )?--help\n$`), line);
  }
  // A wrong guess is worse than none.
  for (const line of ["xyz", "ib_send_lat", "frobnicate", "gids -z", "perf --x", "--frobnicate"]) {
    assertEquals((await ran(line.split(" "))).err.includes("did you mean"), false, line);
  }
});

Deno.test("run() says how a command gets permissions, also an installed one", async () => {
  using _ = stub(Deno, "openSync", () => {
    throw new Deno.errors.NotCapable("Requires read access: run again with --allow-read");
  });
  const { status, err } = await ran(["explain", "x.pcap"]);
  assertEquals(status, 1);
  assertMatch(err, /"deno run -A jsr:\S+ \.\.\."/);
  assertMatch(
    err,
    /to an installed command by "deno install --global --force -A --name ibverbs jsr:/,
  );
});

Deno.test("run() shows how it is run and how it is installed, and each command has its help", async () => {
  const { out } = await ran([]);
  assertMatch(out, /^ {2}deno run -A jsr:\S+ COMMAND/m);
  assertMatch(
    out,
    /^or, after "deno install --global -A --name ibverbs jsr:\S+":\n\n {2}ibverbs COMMAND/m,
  );
  const names = Array.from(out.matchAll(/^ {2}(\w+) {2}/gm), ([, name]) => name!);
  assertEquals(names.length, 10);
  for (const name of names) {
    for (const line of [[name, "--help"], [name, "-h"], ["help", name]]) {
      const { status, out } = await ran(line);
      assertEquals(status, 0);
      assertStringIncludes(out, `\n  ${name} `);
      // An installed command is not run again by "deno run".
      assertEquals(out.includes("deno run"), false, name);
    }
  }
});

Deno.test("run() prints the version of the package, also for a command", async () => {
  for (const args of [["--version"], ["perf", "--version"]]) {
    const { status, out } = await ran(args);
    assertEquals([status, out], [0, `${denoJson.name} ${denoJson.version}\n`]);
  }
});

Deno.test("run() ends with SIGPIPE's status when nobody reads what it prints", async () => {
  const ended = (error: Error): Promise<unknown> => {
    const write = (): never => {
      throw error;
    };
    return ran(["--help"], { write }).then(({ status }) => status, (error) => error);
  };
  assertEquals(await ended(new Deno.errors.BrokenPipe()), 141);
  const other = new TypeError("a bug");
  assertEquals(await ended(other), other);
});
