// Prints for each static-inline verb which target the header's own code reaches, and which one ours does.
import { callVerb, cString, opRows, targets } from "./op_calls.ts";

targets.prepare();
const reached = opRows.map(([name, row]) => {
  const header = targets.header_reaches(cString(name));
  targets.last_reached();
  callVerb(name, row);
  return [name, header, targets.last_reached()];
});
console.log(JSON.stringify(reached));
