// How the device tests are shared between guests.

import { assertEquals } from "@std/assert";
import { guestCount, testFiles } from "../../../tools/tests/files.ts";

async function shareOf(share: string, ...files: string[]): Promise<[number, string[]]> {
  const { code, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["test", "-A", "--no-check", "tools/tests/share.ts", "--", share, ...files],
    cwd: new URL("../../../", import.meta.url),
    env: { NO_COLOR: "1" },
  }).output();
  const results = new TextDecoder().decode(stdout).matchAll(/^(.*) \.\.\. (ok|FAILED)/gm);
  return [code, [...results].map(([, name, result]) => `${name}: ${result}`)];
}

const FIXTURE = "tests/pure/tools/fixtures/three_tests.ts";

Deno.test("share.ts registers each test in one share", async () => {
  assertEquals(await shareOf("1/2", FIXTURE, `${FIXTURE}?again`), [0, [
    "first: ok",
    "third: ok",
    "second: ok",
  ]]);
  assertEquals(await shareOf("2/2", FIXTURE), [0, ["second: ok"]]);
});

Deno.test("share.ts makes a file that cannot be loaded a failed test", async () => {
  assertEquals(await shareOf("1/1", "tests/none.ts", FIXTURE), [1, [
    "tests/none.ts can be loaded: FAILED",
    "first: ok",
    "second: ok",
    "third: ok",
  ]]);
});

Deno.test("testFiles() finds test files in folders, each once", () => {
  const here = "tests/pure/tools";
  const found = testFiles([`${here}/share_test.ts`, here]);
  assertEquals(found.filter((file) => file.includes("share")), [`${here}/share_test.ts`]);
  assertEquals(found.includes(FIXTURE), false);
  assertEquals(found, [...found].sort());
});

Deno.test("guestCount() goes by files, processors and memory", () => {
  assertEquals(guestCount(40, 2, 16_000), 2);
  assertEquals(guestCount(40, 64, 160_000), 4);
  assertEquals(guestCount(40, 8, 3000), 2);
  assertEquals(guestCount(7, 8, 16_000), 1);
  assertEquals(guestCount(40, 1, 500), 1);
});
