// The C and Python that the documents compare with: the compilers accept it.

import { assertEquals, assertGreater } from "@std/assert";
import { allFences, type Fence } from "../../../tools/docs/fences.ts";

/** What the fences of C use of those before them, and of the program around them. */
const AROUND = `
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdlib.h>
void handle(struct ibv_wc *wc);
void snippet(struct ibv_context *context, struct ibv_pd *pd, struct ibv_cq *cq, struct ibv_qp *qp,
             struct ibv_mr *mr, void *buf, struct ibv_wc wc, struct ibv_recv_wr *wr,
             struct ibv_recv_wr *bad, int n);
`;
const [, PARAMETERS] = /snippet(\([^;]*\));/.exec(AROUND)!;

const fences = allFences();

async function assertAccepted(text: string, fence: Fence, ...command: string[]): Promise<void> {
  const child = new Deno.Command(command[0]!, {
    args: command.slice(1),
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(text));
  await writer.close();
  const { code, stderr } = await child.output();
  const complaint = new TextDecoder().decode(stderr);
  assertEquals(code, 0, `${fence.document}, before line ${fence.line}: ${complaint}`);
}

Deno.test("C in the documents fits the header", async () => {
  const found = fences.filter(({ kind }) => kind === "c");
  assertGreater(found.length, 3);
  for (const fence of found) {
    // In a block of their own, names may be those of the parameters.
    const text = `${AROUND}\nvoid snippet${PARAMETERS} {\n{\n${fence.text}}\n}\n`;
    const options = ["-fsyntax-only", "-Wall", "-Wextra", "-Wno-unused", "-Werror", "-xc", "-"];
    await assertAccepted(text, fence, "gcc", ...options);
  }
});

Deno.test("Python in the documents can be compiled", async () => {
  const found = fences.filter(({ kind }) => kind === "python");
  assertGreater(found.length, 2);
  const program = 'import sys; compile(sys.stdin.read(), "snippet", "exec")';
  for (const fence of found) {
    await assertAccepted(fence.text, fence, "/usr/bin/python3", "-c", program);
  }
});
