// What the command in a guest reads, and what it is told when it looks for a network.
import { assertEquals, assertMatch } from "@std/assert";
import { runDeno } from "../subprocess.ts";

const RXE = new URL("../../rxe/mod.ts", import.meta.url).href;
const SCRIPT = "sha256sum; getent hosts example.com; exit 3";

Deno.test("rxe passes on a large input, and says that a command which fails has no network", async () => {
  const input = Array.from({ length: 400_000 }, (_, i) => `${i}\n`).join("");
  const args = ["run", "-A", "--no-check", RXE, "--", "sh", "-c", SCRIPT];
  const { code, stdout, stderr } = await runDeno(args, { input });
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(input));
  assertEquals([code, stdout], [3, `${new Uint8Array(hash).toHex()}  -\n`], stderr);
  assertMatch(stderr, /^guest: .* has looked for other hosts, but the guest has no network; /m);
});
