// The end of an exchange that tests start as a process of its own.

import { Interpreter } from "./commands.ts";

using interpreter = new Interpreter();
let rest = "";
for await (const text of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
  const lines = (rest + text).split("\n");
  rest = lines.pop()!;
  for (const line of lines) console.log(await interpreter.run(line));
}
