/** cmtime of rdma-core, which connects to itself. */

import { ADDRESS } from "./deno/by_name.ts";

const PORT = 18700;

/** Nanoseconds of a connection, from the call of rdma_connect() until it is established: so many at the same time. */
export async function runCmtime(count: number): Promise<number> {
  const command = (...args: string[]): Deno.Command =>
    new Deno.Command("cmtime", {
      args: [`-p${PORT}`, `-c${count}`, ...args],
      stdout: "piped",
      stderr: "inherit",
    });
  const server = command().spawn();
  try {
    await untilListening();
    const { stdout } = await command("-s", ADDRESS).output();
    return parseCmtime(new TextDecoder().decode(stdout));
  } finally {
    // It waits for requests that do not come.
    server.kill();
    await server.output();
  }
}

/** The time of the step "connect", which is in microseconds of a connection in the last column. */
export function parseCmtime(output: string): number {
  const time = /^connect *:.* ([0-9.]+)$/m.exec(output)?.[1];
  if (time === undefined || output.includes("REJECTED")) {
    throw new Error(`Cannot measure: cmtime said ${output}`);
  }
  return Number(time) * 1000;
}

async function untilListening(): Promise<void> {
  const show = new Deno.Command("rdma", { args: ["resource", "show", "cm_id"] });
  for (let i = 0; i < 1000; i++) {
    const { stdout } = await show.output();
    if (new TextDecoder().decode(stdout).includes(`:${PORT} `)) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("Cannot measure: cmtime does not listen");
}
