// Sends a datagram to the only UD queue pair of a program until it comes back.

import { assertEquals } from "@std/assert";
import { listenUd } from "../../../../net/mod.ts";
import { gidOf, openRxe, QKEY, RXE } from "../../setup.ts";
import type { Program } from "../../programs.ts";

/** A datagram is lost if the program has not posted its receive. */
const AGAIN_MS = 500;

/** Sends "hello", as the output in the documents says. */
export default async function datagrams(program: Program): Promise<void> {
  const qpNum = await queuePairOf(program);
  using client = await listenUd({ device: RXE, qkey: QKEY });
  const to = { transport: "UD", gid: gid(), lid: 0, qpNum, qkey: QKEY } as const;
  const again = setInterval(() => send(), AGAIN_MS);
  try {
    const reply = client.receive();
    send();
    assertEquals(new TextDecoder().decode((await reply)[0]), "hello");
  } finally {
    clearInterval(again);
  }

  function send(): void {
    client.send(new TextEncoder().encode("hello"), to).catch(() => {});
  }
}

function gid(): string {
  using context = openRxe();
  return gidOf(context, "ipv4").gid.toString();
}

/** The number of the queue pair that a process has made ready. */
async function queuePairOf(program: Program): Promise<number> {
  while (!program.ended) {
    const args = ["-j", "resource", "show", "qp", "link", `${RXE}/1`, "pid", `${program.pid}`];
    const { stdout } = await new Deno.Command("rdma", { args }).output();
    const text = new TextDecoder().decode(stdout).trim();
    const found = text === "" ? [] : JSON.parse(text) as { lqpn: number; state: string }[];
    const ready = found.flat().find(({ state }) => state === "RTS");
    if (ready !== undefined) return ready.lqpn;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("The program has ended without a queue pair that is ready");
}
