// The examples in the documentation of the module and in README.md, with a peer that sends them a datagram.
import { assertEquals } from "@std/assert";
import { AddressHandle, Grh, WcOpcode } from "../../../mod.ts";
import { runScript } from "../../subprocess.ts";
import { deviceTest, QKEY, selfAddress, udPair, until, waitFor } from "../setup.ts";

const ROOT = new URL("../../../", import.meta.url);

/** The example of a file that opens a device. */
function exampleIn(file: string): string {
  const text = Deno.readTextFileSync(new URL(file, ROOT)).replaceAll(/^ \* ?/gm, "");
  const blocks = [...text.matchAll(/```ts\n(.*?)```/gs)].map(([_, block]) => block!);
  return blocks.find((block) => block.includes("Context.open()"))!;
}

for (const file of ["mod.ts", "README.md"]) {
  deviceTest(`The example in ${file} replies and waits until the reply is sent`, async () => {
    const numberFile = await Deno.makeTempFile();
    const script = exampleIn(file)
      .replace('"@rdma/ibverbs"', "MOD")
      .replace("for await", `Deno.writeTextFileSync("${numberFile}", String(qp.qpNum));\n$&`)
      .replace(/for await .*\{\n/, "$&console.error(wc.opcode);\n");
    try {
      using pair = udPair();
      const { left } = pair;
      const running = runScript(script);
      await until("the example waits", () => Deno.readTextFileSync(numberFile) !== "");
      left.qp.postRecv({ sge: left.mr.slice(0, 100) });
      const sge = left.mr.slice(200, 5);
      sge.bytes.set(new TextEncoder().encode("Hello"));
      using ah = new AddressHandle(pair.pd, selfAddress(pair.context));
      const remoteQpn = Number(Deno.readTextFileSync(numberFile));
      left.qp.postSend({ sge, ah, remoteQpn, remoteQkey: QKEY });
      const reply = (await waitFor(left.cq, 2)).find((wc) => wc.opcode === WcOpcode.RECV)!;
      const text = new TextDecoder().decode(left.mr.bytes(Grh.SIZE, reply.byteLen - Grh.SIZE));
      assertEquals([reply.srcQp, text], [remoteQpn, "Hello"]);
      const { code, stderr } = await running;
      assertEquals([code, stderr], [0, `${WcOpcode.RECV}\n${WcOpcode.SEND}`]);
    } finally {
      await Deno.remove(numberFile);
    }
  });
}
