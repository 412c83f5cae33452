// A guest whose emulated kernel does not start is started once more, and not for ever.
import { assertEquals, assertStringIncludes } from "@std/assert";

const QEMU = "qemu-system-x86_64";

/** Runs a command in the guest with a QEMU that fails so many times before it works. */
async function runWithFailures(
  failures: number,
): Promise<{ code: number; out: string; err: string }> {
  const folder = await Deno.makeTempDir({ prefix: "guest start " });
  try {
    const real = new TextDecoder().decode(
      (await new Deno.Command("which", { args: [QEMU] }).output()).stdout,
    ).trim();
    await Deno.writeTextFile(
      `${folder}/${QEMU}`,
      `#!/bin/sh
for i in $(seq ${failures}); do
  if mkdir "${folder}/failed$i" 2> /dev/null; then echo "it is broken" >&2; exit 1; fi
done
exec "${real}" "$@"
`,
      { mode: 0o755 },
    );
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", new URL("../../mod.ts", import.meta.url).href]
        .concat("--", "echo", "started"),
      env: { NO_COLOR: "1", IBVERBS_ACCEL: "tcg", PATH: `${folder}:${Deno.env.get("PATH")}` },
    }).output();
    const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    return { code, out: out!, err: err! };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("rxe starts a guest once more when it does not start, and says so", async () => {
  const { code, out, err } = await runWithFailures(1);
  assertEquals([code, out], [0, "started\n"], err);
  assertStringIncludes(err, "guest: does not start with tcg, trying once more");
  assertStringIncludes(err, "it is broken");
});

Deno.test("rxe fails when a guest does not start twice", async () => {
  const { code, out, err } = await runWithFailures(1000);
  assertEquals([code !== 0, out], [true, ""], err);
  assertStringIncludes(err, "it is broken");
});
