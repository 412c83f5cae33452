// The command line of rxe: what it refuses, and what its help says, before anything is set up.
import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { runCommandLine } from "../../../rxe/command_line.ts";
import { denoCommand } from "../../../rxe/host/deno_command.ts";
import { many, readOnlyOptions, readOptions, text } from "../../../rxe/host/options.ts";
import { SetupError } from "../../../rxe/host/report.ts";
import { runDeno } from "../../subprocess.ts";

const NEVER = {
  command: "rxe",
  complete: () => Promise.reject(new Error("the options were taken")),
};

const refused: [args: string[], message: string][] = [
  [[], "the command is missing; see --help"],
  [["--"], "the command is missing; see --help"],
  [["--bogus", "ls"], '"--bogus" is not an option; see --help'],
  [["--hosts", "3", "ls"], '--hosts takes 1 or 2, not "3"; see --help'],
  [["--hosts", "2", "ls", ":::"], "the command is missing; see --help"],
  [["--capture", "a.pcap", "ls"], "--capture takes the packets between two hosts: add --hosts 2"],
  [["--env", "1=2", "ls"], "--env takes NAME=VALUE, or the NAME of a variable that is set, not"],
  [["--env", "NO_SUCH_VARIABLE", "ls"], "--env takes NAME=VALUE, or the NAME of a variable that"],
  [["--forward", "80", "ls"], "--forward takes HOSTPORT:GUESTPORT, or with /udp behind them, not"],
  [["--forward", "70000:1", "ls"], "--forward takes"],
  [["--forward", "1:2/sctp", "ls"], "--forward takes"],
  [["--memory", "0", "ls"], '--memory takes a whole number from 1, not "0"; see --help'],
];

for (const [args, message] of refused) {
  Deno.test(`rxe ${args.join(" ")} is refused`, async () => {
    await assertRejects(() => runCommandLine(args, NEVER), SetupError, message);
  });
}

Deno.test("rxe takes options until the command, which keeps its own", async () => {
  let taken: unknown;
  const offer = {
    command: "rxe",
    complete: (options: unknown) => {
      taken = options;
      return Promise.reject(new Error("taken"));
    },
  };
  const line = "--share /a --share=b --env XY=1=2 --forward 1:2/udp --processors=1 ls --stub";
  await assertRejects(() => runCommandLine(line.split(" "), offer), Error, "taken");
  assertEquals(taken, {
    env: { XY: "1=2" },
    forwards: [{ protocol: "udp", host: 1, guest: 2 }],
    share: ["/a", `${Deno.cwd()}/b`],
    ...{ accelerator: undefined, capture: undefined, memory: undefined, timeout: undefined },
    ...{ processors: 1, stub: false, verbose: false },
  });
});

Deno.test("readOptions() keeps all values of an option that may be given several times", () => {
  const { options } = readOptions(["--a", "x", "--b", "1", "--a=y"], { a: many(text), b: text });
  assertEquals(options, { a: ["x", "y"], b: "1" });
});

Deno.test("readOnlyOptions() refuses operands", () => {
  const known = { help: "flag" } as const;
  assertEquals(readOnlyOptions(["--help"], known), { help: true });
  const message = '"x" is one argument too many; see --help';
  assertThrows(() => readOnlyOptions(["x"], known), SetupError, message);
});

Deno.test("denoCommand() is npx where only npx knows Deno", async () => {
  const folder = await Deno.makeTempDir();
  const cache = `${folder}/_npx/1/node_modules/.bin`;
  await Deno.mkdir(cache, { recursive: true });
  await Deno.writeTextFile(`${cache}/deno`, "");
  assertEquals(denoCommand(`${cache}:/nowhere`), "npx -y deno");
  await Deno.writeTextFile(`${folder}/deno`, "");
  assertEquals(denoCommand(`${cache}:${folder}`), "deno");
  await Deno.remove(folder, { recursive: true });
});

Deno.test("rxe --help does nothing but show a text", async () => {
  const { code, stdout, stderr } = await runDeno(
    ["run", "-A", "--quiet", "--no-check", "rxe/mod.ts", "--", "--help"],
    { env: { IBVERBS_ACCEL: "none", IBVERBS_CACHE: "/nowhere" } },
  );
  assertEquals([code, stderr], [0, ""]);
  assertStringIncludes(stdout, "run -A jsr:@rdma/ibverbs/rxe -- [OPTIONS]");
});
