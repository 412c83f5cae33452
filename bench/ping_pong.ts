/** Two programs that send a datagram to and fro. */

const PROGRAMS: Readonly<Record<string, readonly string[]>> = {
  c: ["ibv_ud_pingpong"],
  deno: ["deno", "run", "-A", new URL("../examples/ud_pingpong.ts", import.meta.url).pathname],
};

const LIMIT_SECONDS = 60;
const ATTEMPTS = 3;

/**
 * Has a program play with itself; the nanoseconds of one iteration, as the client tells them. A datagram that is lost
 * ends the game, because nobody sends it again: then they start anew.
 */
export async function playPingPong(name: string, iterations: number): Promise<number> {
  for (let i = 0; i < ATTEMPTS; i++) {
    const nanoseconds = await play(PROGRAMS[name]!, iterations);
    if (nanoseconds !== undefined) return nanoseconds;
  }
  throw new Error(`Cannot measure: ping-pong in ${name} did not finish`);
}

async function play(command: readonly string[], iterations: number): Promise<number | undefined> {
  const [program, ...first] = command;
  const args = [...first, "-g", "0", "-n", `${iterations}`];
  const signal = AbortSignal.timeout(LIMIT_SECONDS * 1000);
  const server = new Deno.Command(program!, { args, signal }).output();
  await untilListening();
  const client = await new Deno.Command(program!, { args: [...args, "127.0.0.1"], signal })
    .output();
  await server;
  const [, microseconds] = new TextDecoder().decode(client.stdout).match(/= ([\d.]+) usec\/iter/) ??
    [];
  return microseconds === undefined ? undefined : Number(microseconds) * 1000;
}

const PORT = 18515;
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
