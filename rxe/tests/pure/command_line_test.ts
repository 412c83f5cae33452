// The command line of rxe: what it refuses, and what its help says, before anything is set up.
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { runCommandLine } from "../../command_line.ts";
import type { GuestOptions } from "../../guest/run.ts";
import { denoCommand } from "../../host/deno_command.ts";
import { many, readOptionsOfCommand, text } from "../../options.ts";
import { runDeno } from "../../../tests/subprocess.ts";
import { programs } from "./programs.ts";

const NEVER = {
  command: "rxe",
  complete: () => Promise.reject(new Error("the options were taken")),
};

const refused: [args: string[], message: string][] = [
  [[], "the command is missing"],
  [["--"], "the command is missing"],
  [["--bogus", "ls"], '"--bogus" is not an option'],
  [["--hosts", "3", "ls"], '--hosts takes 1 or 2, not "3"'],
  [["--stub"], "the command is missing"],
  [["--kernel", "5.10", "ls"], '--kernel takes 6.1 or 6.12 or 7.3, not "5.10"'],
  [["--userland=14", "ls"], '--userland takes 11 or 12 or 13 or sid, not "14"'],
  [["--hosts", "2", "ls", ":::"], "the command is missing"],
  [["--hosts", "2", ":::", "ls"], "the command is missing"],
  [["--toString", "ls"], '"--toString" is not an option'],
  [["--stub=1", "ls"], "--stub takes no value"],
  [["--share"], "--share takes a text, not nothing"],
  [["--capture", "a.pcap", "ls"], "--capture takes the packets between two hosts: add --hosts 2"],
  [["--env", "1=2", "ls"], "--env takes NAME=VALUE, or the NAME of a variable that is set, not"],
  [["--env", "1X=2", "ls"], "--env takes"],
  [["--env", "PATH-X=2", "ls"], "--env takes"],
  [["--env", "NO_SUCH_VARIABLE", "ls"], "--env takes NAME=VALUE, or the NAME of a variable that"],
  [["--forward", "80", "ls"], "--forward takes HOSTPORT:GUESTPORT, or with /udp behind them, not"],
  [["--forward", "65536:1", "ls"], "--forward takes"],
  [["--forward", "1:65536", "ls"], "--forward takes"],
  [["--forward", "1:2/sctp", "ls"], "--forward takes"],
  ...["0", "1234567890", "x1", "1x", "-1"].map((text): [string[], string] => [
    [`--memory=${text}`, "ls"],
    `--memory takes a whole number from 1, not "${text}"`,
  ]),
];

for (const [args, message] of refused) {
  Deno.test(`rxe ${args.join(" ")} is refused`, async () => {
    await assertRejects(() => runCommandLine(args, NEVER), Error, message);
  });
}

/** What is taken from a command line. */
async function optionsOf(args: readonly string[]): Promise<GuestOptions> {
  let taken: GuestOptions = {};
  const complete = (options: GuestOptions): Promise<GuestOptions> => {
    taken = options;
    return Promise.reject(new Error("taken"));
  };
  await assertRejects(() => runCommandLine(args, { command: "rxe", complete }), Error, "taken");
  return Object.fromEntries(Object.entries(taken).filter(([, value]) => value !== undefined));
}

const taken: [line: string, options: GuestOptions][] = [
  ["ls -a", {}],
  ["-- --stub ls", { stub: true }],
  ["--verbose -- ls --stub", { verbose: true }],
  ["--env XYZ=1=2 --env=X= ls", { env: { XYZ: "1=2", X: "" } }],
  ["--env PATH ls", { env: { PATH: Deno.env.get("PATH")! } }],
  ["--share /a --share=b ls", { share: ["/a", `${Deno.cwd()}/b`] }],
  ["--forward 65535:2/udp --forward 1:65535 --forward 12:34/tcp ls", {
    forwards: [
      { protocol: "udp", host: 65535, guest: 2 },
      { protocol: "tcp", host: 1, guest: 65535 },
      { protocol: "tcp", host: 12, guest: 34 },
    ],
  }],
  ["--processors=1 --memory 123456789 --timeout 10 ls --stub", {
    ...{ processors: 1, memory: 123456789, timeout: 10 },
  }],
  ["--kernel 7.3 --userland=sid ls --kernel", { kernel: "7.3", userland: "sid" }],
  ["--accel tcg --hosts 2 --capture a.pcap ls", {
    accelerator: "tcg",
    capture: `${Deno.cwd()}/a.pcap`,
  }],
];

for (const [line, options] of taken) {
  Deno.test(`rxe takes the options of ${line}`, async () => {
    assertEquals(await optionsOf(line.split(" ")), options);
  });
}

Deno.test("readOptionsOfCommand() keeps all values of an option that may be given several times", () => {
  const { options } = readOptionsOfCommand(["--a", "x", "--b", "1", "--a=y"], {
    ...{ a: many(text), b: text },
  });
  assertEquals(options, { a: ["x", "y"], b: "1" });
});

Deno.test("readOptionsOfCommand() leaves a command its own options", () => {
  const known = { a: text, b: "flag" } as const;
  const rows: [line: string, read: unknown][] = [
    ["x --b", { options: {}, command: ["x", "--b"] }],
    ["--b --a y -- x --b", { options: { a: "y", b: true }, command: ["x", "--b"] }],
    ["--b x -- y", { options: { b: true }, command: ["x", "--", "y"] }],
    ["--b", { options: { b: true }, command: [] }],
  ];
  for (const [line, read] of rows) assertEquals(readOptionsOfCommand(line.split(" "), known), read);
});

Deno.test("denoCommand() is npx where only npx knows Deno", async () => {
  const folder = await Deno.makeTempDir();
  const cache = `${folder}/_npx/1/node_modules/.bin`;
  await Deno.mkdir(cache, { recursive: true });
  await Deno.writeTextFile(`${cache}/deno`, "");
  assertEquals(denoCommand(`${cache}:/nowhere`), "npx -y deno");
  await Deno.writeTextFile(`${folder}/deno`, "");
  assertEquals(denoCommand(`${cache}:/nowhere:${folder}`), "deno");
  {
    await using _ran = await programs({ deno: "" });
    assertEquals(denoCommand(), "deno");
  }
  await Deno.remove(folder, { recursive: true });
});

Deno.test("rxe --help does nothing but show a text", async () => {
  const { code, stdout, stderr } = await runDeno(
    ["run", "-A", "--quiet", "--no-check", "rxe/mod.ts", "--", "--help"],
    { env: { IBVERBS_ACCEL: "none", IBVERBS_CACHE: "/nowhere" } },
  );
  assertEquals([code, stderr], [0, ""]);
  assertStringIncludes(stdout, "run -A jsr:@rdma/rxe -- [OPTIONS]");
});
