/** ib_send_lat of perftest, which plays with itself. */

/** What ib_send_lat shall do. */
export interface Test {
  readonly size: number;
  readonly count: number;
}

const LIMIT_SECONDS = 60;
const PORT = 18600;

export type Role = "server" | "client";

/**
 * What starts an end on a processor of its own. Both ends poll all the time: on one processor each would wait until the
 * time of the other is up.
 */
export function pinned(role: Role): string[] {
  return ["taskset", "-c", role === "server" ? "0" : "1"];
}

/** perftest compares the processor's counter with the clock when it starts. On a busy machine that may fail. */
const ATTEMPTS = 8;

/** Nanoseconds of half a round trip: the median. */
export async function runPerftest(test: Test): Promise<number> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const nanoseconds = await run(test);
    if (Number.isFinite(nanoseconds)) return nanoseconds;
  }
  throw new Error("Cannot measure: ib_send_lat cannot find out the speed of its clock");
}

async function run(test: Test): Promise<number> {
  const args = argumentsOf(test);
  const signal = AbortSignal.timeout(LIMIT_SECONDS * 1000);
  const command = (role: Role): Deno.Command => {
    const [program, ...first] = [...pinned(role), "ib_send_lat", ...args];
    const last = role === "client" ? ["127.0.0.1"] : [];
    return new Deno.Command(program!, { args: [...first, ...last], signal });
  };
  const server = command("server").output();
  await untilListening();
  const client = await command("client").output();
  await server;
  return parsePerftest(test, new TextDecoder().decode(client.stdout));
}

function argumentsOf({ size, count }: Test): string[] {
  const options = { s: size, n: count, x: 0, p: PORT };
  const common = Object.entries(options).map(([option, value]) => `-${option}${value}`);
  // The library posts by ibv_post_send. Nothing is sent inline: perftest does not use that on rxe.
  return [...common, "-F", "--use_old_post_send"];
}

/**
 * What the program says, in nanoseconds. Behind size and count stand the minimum, the maximum and the median, in
 * microseconds. It is NaN if the program's clock failed.
 */
export function parsePerftest({ size, count }: Test, output: string): number {
  const line = output.split("\n").find((line) => line.trim().startsWith(`${size} `));
  const values = line?.trim().split(/\s+/).map(Number);
  if (values === undefined || values[1] !== count) {
    throw new Error(`Cannot measure: ib_send_lat said ${output}`);
  }
  return values[4]! * 1000;
}

const LISTENING = new RegExp(`:${PORT.toString(16).toUpperCase()} \\S+ 0A `, "m");

/** A connection to try it by would be the server's only one. */
async function untilListening(): Promise<void> {
  for (let i = 0; i < 1000; i++) {
    const sockets = ["/proc/net/tcp", "/proc/net/tcp6"].map((path) => Deno.readTextFileSync(path));
    if (LISTENING.test(sockets.join("\n"))) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("Cannot measure: the server does not listen");
}
