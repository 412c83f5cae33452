// The process that uses up what its control group may have: it makes protection domains until the kernel refuses, says
// how many it got, and keeps them until its input ends.
import { Context, ProtectionDomain, VerbsError } from "../../../mod.ts";

const context = Context.open(Deno.args[0]);
let count = 0;
let code = "";
while (code === "") {
  try {
    new ProtectionDomain(context);
    count++;
  } catch (error) {
    if (!(error instanceof VerbsError)) throw error;
    code = error.code;
  }
}
console.log(JSON.stringify({ count, code }));
for await (const _ of Deno.stdin.readable);
context.close();
