// What a user does who has a project of their own and no RDMA hardware: datagrams, and tests in the guest.
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";

function url(path: string): string {
  return new URL(`../../${path}`, import.meta.url).href;
}

const ECHO = `import { listenUd } from "@rdma/ibverbs/net";

using server = await listenUd({ qkey: 0x1111_1111 });
using client = await listenUd({ qkey: 0x1111_1111 });
await client.send(new TextEncoder().encode("hello"), server.addr);
const [message, from] = await server.receive();
await server.send(message, from);
const [answer] = await client.receive();
export const text = new TextDecoder().decode(answer);
console.log(text);
`;

const TEST = `import { equal } from "node:assert";

Deno.test("echo answers", async () => {
  const { text } = await import("./echo.ts");
  equal(text, "hello");
  equal(Deno.env.get("GREETING"), text);
  await Deno.writeTextFile("results/answer.txt", text);
  await Deno.writeTextFile("forgotten.txt", text);
});
`;

Deno.test("rxe runs the tests of a project in its folder, brings files back and names those it loses", async () => {
  const folder = await Deno.makeTempDir({ prefix: "own project " });
  try {
    const imports = { "@rdma/ibverbs/net": url("net/mod.ts") };
    await Deno.writeTextFile(`${folder}/deno.json`, JSON.stringify({ imports, lock: false }));
    await Deno.writeTextFile(`${folder}/echo.ts`, ECHO);
    await Deno.writeTextFile(`${folder}/echo_test.ts`, TEST);
    const options = ["--share", "results", "--env", "GREETING=hello", "--timeout", "300"];
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", url("rxe/mod.ts"), ...options, "--", "deno", "test", "-A"],
      cwd: folder,
      env: { NO_COLOR: "1" },
    }).output();
    const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    assertEquals(code, 0, err);
    assertMatch(out!, /^ok \| 1 passed/m);
    assertEquals(await Deno.readTextFile(`${folder}/results/answer.txt`), "hello");
    assertEquals([...Deno.readDirSync(folder)].some(({ name }) => name === "forgotten.txt"), false);
    assertStringIncludes(err!, "guest: a change to forgotten.txt went with the guest");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
