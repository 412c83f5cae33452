// What the command in a guest reads, and what it sees when it looks for a network.
import { assertEquals, assertMatch } from "@std/assert";
import { dirname } from "node:path";
import { runDeno } from "../../../tests/subprocess.ts";

const RXE = new URL("../../mod.ts", import.meta.url).href;
const SCRIPT = "sha256sum; getent hosts example.com; exit 3";

Deno.test("rxe passes on a large input, and says that a command which fails has no network", async () => {
  const input = Array.from({ length: 400_000 }, (_, i) => `${i}\n`).join("");
  const args = ["run", "-A", "--no-check", RXE, "--", "sh", "-c", SCRIPT];
  const { code, stdout, stderr } = await runDeno(args, { input });
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(input));
  assertEquals([code, stdout], [3, `${new Uint8Array(hash).toHex()}  -\n`], stderr);
  assertMatch(stderr, /^guest: .* has looked for other hosts, but the guest has no network; /m);
});

/** What a person at a terminal types, each after what is shown then. */
const TYPED = [[/^ready\r/m, "hello\n"], [/^<hello>\r/m, "\x03"]] as const;

Deno.test("rxe gives a command a terminal where it has one itself, and leaves its own as it was", async () => {
  const program =
    'trap "exit 5" INT; stty size; echo ready; read line; echo "<$line>"; sleep 60 & wait';
  const rxe = `deno run -A --no-check ${RXE} -- sh -c '${program}'`;
  const child = new Deno.Command("script", {
    args: [
      ...["--quiet", "--return", "--echo", "always", "--command"],
      `stty rows 33 cols 101; old=$(stty -g); ${rxe}; echo "status $?"; test "$old" = "$(stty -g)"`,
      "/dev/null",
    ],
    env: { PATH: `${dirname(Deno.execPath())}:${Deno.env.get("PATH")}` },
    stdin: "piped",
    stdout: "piped",
    signal: AbortSignal.timeout(120_000),
  }).spawn();
  const keys = child.stdin.getWriter();
  const steps = [...TYPED];
  let shown = "";
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    shown += text;
    if (!steps[0]?.[0].test(shown)) continue;
    await keys.write(new TextEncoder().encode(steps.shift()![1]));
  }
  await keys.close();
  const { code } = await child.status;
  assertMatch(shown, /33 101\r+\nready\r+\nhello\r+\n<hello>\r+\n\^C.*status 5\r+\n$/s);
  assertEquals(code, 0, shown);
});
