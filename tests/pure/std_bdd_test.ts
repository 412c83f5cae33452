// The same tests pass with the real @std/testing and with tools/std/bdd.ts.

import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from "@std/testing/bdd";

const log: string[] = [];

describe("outer", () => {
  beforeAll(() => void log.push("beforeAll"));
  afterAll(async () => {
    await Promise.resolve();
    log.push("afterAll");
  });
  beforeEach(() => void log.push("beforeEach"));
  afterEach(() => void log.push("afterEach"));

  it("is given the context of the test", (t) => {
    assertEquals(t.name, "is given the context of the test");
    log.push("first");
  });

  describe("inner", () => {
    beforeEach(() => void log.push("inner beforeEach"));
    afterEach(() => void log.push("inner afterEach"));

    it("awaits its body", async () => {
      await Promise.resolve();
      log.push("second");
    });
  });

  it("refuses a test registered while tests run", () => {
    assertThrows(() => it("late", () => {}), Error, "Cannot register");
    log.push("third");
  });

  it.ignore("does not run what is ignored", () => void log.push("ignored"));
  it.skip("does not run what is skipped", () => void log.push("skipped"));
  it("does not run what an option ignores", { ignore: true }, () => {
    log.push("ignored");
  });
});

it("runs hooks around each test, the outermost first", () => {
  assertEquals(log, [
    "beforeAll",
    ...["beforeEach", "first", "afterEach"],
    ...["beforeEach", "inner beforeEach", "second"],
    ...["inner afterEach", "afterEach"],
    ...["beforeEach", "third", "afterEach"],
    "afterAll",
  ]);
});

Deno.test("describe() refuses a body that is a promise", () => {
  const body = (() => Promise.resolve()) as unknown as () => undefined;
  assertThrows(() => describe("promised", body), Error);
});

Deno.test("it() keeps the sanitizers and runs afterEach() when a test fails", async () => {
  const { success, output } = await runFixture();
  assertEquals(success, false);
  assertMatch(output, /leaks .*FAILED/);
  assertMatch(output, /file .*(was|opened)/i);
  assertMatch(output, /throws .*FAILED/);
  assertMatch(output, /after throws/);
  assertMatch(output, /sound .*ok/);
});

async function runFixture(): Promise<{ success: boolean; output: string }> {
  const root = new URL("../../", import.meta.url);
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "test",
      "--no-check",
      "--allow-read",
      "--import-map=tools/std/import_map.json",
      "tests/pure/fixtures/bdd_failures.ts",
    ],
    cwd: root,
    env: { NO_COLOR: "1" },
  }).output();
  const decoder = new TextDecoder();
  return { success, output: decoder.decode(stdout) + decoder.decode(stderr) };
}
