// How a program that PeerProcess starts talks to its test: lines of JSON. It has no import map.

/** Sends a line to the test. */
export function say(value: unknown): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${JSON.stringify(value)}\n`));
}

/** Waits for the only line of the test. */
export async function hear(): Promise<unknown> {
  let text = "";
  for await (const chunk of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (text.endsWith("\n")) break;
  }
  return JSON.parse(text);
}
