import { type Command, command, commandGroup } from "./shell/command.ts";
import { type Kind, KINDS } from "./pingpong/kinds.ts";
import { optionsFor, readOptions } from "./peer/options.ts";
import { runPingPong } from "./pingpong/run.ts";

function pingPongOf(name: string, kind: Kind): Command {
  return command({
    name: `pingpong ${name}`,
    summary: kind.summary,
    details: `
Without HOST it is a server and waits for a client; with HOST it connects to the server there. The
peer may be ibv_${name}_pingpong. Both ends need the same --size and --iters.
It needs --allow-net for the exchange of addresses.`,
    operands: "[HOST]",
    options: optionsFor(kind),
    run: (values, terminal, operands) =>
      runPingPong(kind, readOptions(kind, values, operands), terminal, values.json),
  });
}

export const pingpong: Command = commandGroup(
  "pingpong",
  "Sends messages back and forth, as ibv_*_pingpong do; works with them.",
  Object.fromEntries(Object.entries(KINDS).map(([name, kind]) => [name, pingPongOf(name, kind)])),
);
