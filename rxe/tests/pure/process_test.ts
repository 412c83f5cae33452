// rxe as a process of its own, with a program in QEMU's place: its arguments, system errors, and what SIGKILL leaves.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { runDeno } from "../../../tests/subprocess.ts";
import { comesUp, ends, play, type Step, step } from "./machines.ts";

const ignore = Deno.build.arch !== "x86_64";
const MOD = new URL("../../mod.ts", import.meta.url).pathname;

/** Runs rxe without what it says of its progress, which a slow host makes it say. */
async function runRxe(
  words: readonly string[],
  options?: Parameters<typeof runDeno>[1],
): ReturnType<typeof runDeno> {
  const result = await runDeno(words, options);
  return { ...result, stderr: result.stderr.replace(/^(guest|set-up): .*\n/gm, "") };
}

/** The words that run a command by rxe. */
function rxe(...words: string[]): string[] {
  return ["run", "-A", "--quiet", "--no-check", MOD, "--", ...words];
}

/** Plays machines to processes of rxe. */
function playTo(starts: readonly Step[][], run: () => Promise<unknown>): ReturnType<typeof play> {
  return play({ "1": starts }, {}, {
    variables: { IBVERBS_ACCEL: "tcg" },
    run: () => run().then(() => []),
  });
}

/** Arguments that something on the way could change. */
const WORDS = [
  "a\r",
  "\r",
  "b\r\n",
  "c\n",
  "\t d ",
  "",
  "it's",
  '"$X"',
  "\\",
  "*",
  "\x7f\x01",
  "ö€𝄞",
  "\ufeff",
];

Deno.test({
  name: "rxe gives the command its arguments as they are",
  ignore,
  async fn(): Promise<void> {
    const { initrd, result } = await playTo([comesUp(ends(0, 0, 0))], async () => {
      assertEquals((await runRxe(rxe("--env", "X=1\r", "printf", "%s|", ...WORDS))).stderr, "");
    });
    assertEquals(result, []);
    const script = initrd["1-1"]!["command.sh"]!;
    const own = script.replace(/^cd .*$/m, "").replace('mkdir -p "$HOME"', "")
      .replace("exec ", 'printf "%s|" "$X"; exec ');
    const { stdout } = await new Deno.Command("sh", { args: ["-c", own] }).output();
    assertEquals(new TextDecoder().decode(stdout), bytesOf(["1\r", ...WORDS, ""].join("|")));
  },
});

Deno.test("rxe refuses an argument that is not UTF-8", async () => {
  const command = `exec "$0" "$@" "$(printf 'a\\377')"`;
  const { code, stderr } = await runRxe(rxe("echo"), { prefix: ["sh", "-c", command] });
  assertEquals([code, stderr], [
    1,
    'error: Cannot pass on the argument "a\ufffd": it is not UTF-8\n',
  ]);
});

/** A text as members() reads it, which takes each byte for a character. */
function bytesOf(text: string): string {
  return new TextDecoder("latin1").decode(new TextEncoder().encode(text));
}

/** Variables with which rxe cannot run, and the one line that it says. */
const REFUSED: readonly [env: Record<string, string>, says: RegExp][] = [
  [
    { IBVERBS_CACHE: "/dev/null" },
    /^error: Cannot use the cache \/dev\/null: .*; make room there, or set IBVERBS_CACHE to a folder that can be written\n$/,
  ],
  [
    { IBVERBS_CACHE: "/dev/null/a" },
    /^error: Cannot use the cache \/dev\/null\/a: Not a directory: .*; make room there, or set/,
  ],
  [
    { TMPDIR: "/nowhere" },
    /^error: Cannot use the temporary folder \/nowhere: No such .*; make room there, or set TMPDIR to another folder\n$/,
  ],
];

for (const [env, says] of REFUSED) {
  Deno.test({
    name: `rxe says one line when ${JSON.stringify(env)}`,
    ignore,
    async fn(): Promise<void> {
      const { code, stderr } = await runRxe(rxe("true"), { env });
      assertMatch(stderr, says);
      assertEquals([code, stderr.split("\n").length], [1, 2]);
    },
  });
}

Deno.test({
  name: "rxe says one line when a path of the temporary folder is too long for sockets",
  ignore,
  async fn(): Promise<void> {
    const { left } = await playTo([], async () => {
      const long = `${Deno.env.get("TMPDIR")}/${"long".repeat(30)}`;
      await Deno.mkdir(long);
      const { code, stderr } = await runRxe(rxe("true"), { env: { TMPDIR: long } });
      assertMatch(
        stderr,
        /^error: Cannot use the temporary folder .*: path must be shorter than .*; .*\n$/,
      );
      assertEquals([code, [...Deno.readDirSync(long)]], [1, []]);
      await Deno.remove(long);
    });
    assertEquals(left, []);
  },
});

Deno.test({
  name: "rxe says one line when a shared folder cannot be made",
  ignore,
  async fn(): Promise<void> {
    const { code, stderr } = await runRxe(rxe("--share", "/dev/null/a", "true"));
    assertEquals([code, stderr], [
      1,
      "error: Cannot share the folder /dev/null/a: Not a directory: mkdir '/dev/null/a'; share one that this user can " +
      "make or use\n",
    ]);
  },
});

Deno.test({
  name: "rxe removes the folder of a process that was killed, and none in use",
  ignore,
  async fn(): Promise<void> {
    const up = comesUp(step("out", "up"));
    const ending = comesUp(ends(0, 0, 0));
    const folders = (): string[] =>
      [...Deno.readDirSync(Deno.env.get("TMPDIR")!)].map(({ name }) => name);
    const { left, result } = await playTo([up, ending, ending], async () => {
      const command = { args: rxe("sleep"), stdout: "piped", stderr: "null" } as const;
      const child = new Deno.Command(Deno.execPath(), command).spawn();
      const reader = child.stdout.getReader();
      assertStringIncludes(new TextDecoder().decode((await reader.read()).value), "up");
      const used = folders();
      assertEquals(used.length, 1);
      assertEquals((await runRxe(rxe("true"))).code, 0);
      assertEquals(folders(), used);
      child.kill("SIGKILL");
      await child.status;
      await reader.cancel();
      assertEquals(folders(), used);
      assertEquals((await runRxe(rxe("true"))).code, 0);
    });
    assertEquals({ left, result }, { left: [], result: [] });
  },
});
