import { assertEquals } from "@std/assert";
import { deviceTest } from "../setup.ts";

const ROOT = new URL("../../../", import.meta.url);

/** The examples of a file that import the net module and do not only declare functions. */
function programs(path: string): string[] {
  const text = Deno.readTextFileSync(new URL(path, ROOT)).replaceAll(/^ \* ?/gm, "");
  const blocks = [...text.matchAll(/^```ts\n(.*?)^```/gms)].map(([, block]) => block!);
  return blocks.filter((block) => block.includes('"@rdma/ibverbs/net"'))
    .map((block) => block.replaceAll('"@rdma/ibverbs/net"', `"${new URL("net/mod.ts", ROOT)}"`));
}

for (const path of ["README.md", "net/mod.ts"]) {
  deviceTest(`the examples of the net module in ${path} run`, async () => {
    const found = programs(path);
    assertEquals(found.length, path === "README.md" ? 1 : 2);
    for (const program of found) {
      const file = await Deno.makeTempFile({ suffix: ".ts" });
      await Deno.writeTextFile(file, program);
      const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
        args: ["run", "--no-check", "--allow-ffi", "--allow-net", file],
      }).output();
      await Deno.remove(file);
      const [printed, error] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
      assertEquals([printed, error, success], ["hello\n", "", true]);
    }
  });
}
