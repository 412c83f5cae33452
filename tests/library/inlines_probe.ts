// Prints for each static-inline verb which target the header's own code reaches, and which one ours does.
import { inlineVerbs } from "../../ffi/inlines.ts";
import { verbs } from "../../ffi/library.ts";
import { compileC } from "../c/compile.ts";

/** The ops of these take one argument more than the header's functions do. */
const SIZED = ["ibv_query_device_ex", "___ibv_query_port"];

const entries = Object.entries(inlineVerbs);

function headerCall(name: string, parameters: readonly unknown[]): string {
  const taken = SIZED.includes(name) ? parameters.slice(0, -1) : parameters;
  const rest = taken.slice(1).map((type) => type === "pointer" || type === "buffer" ? "z" : "0");
  return `X(${[name, isOfContext(name) ? "c" : "o", ...rest].join(",")})`;
}

function isOfContext(name: string): boolean {
  return inlineVerbs[name as keyof typeof inlineVerbs].op.of === "ibv_context";
}

const calls = entries.map(([name, { definition }]) => headerCall(name, definition.parameters));
const { symbols } = Deno.dlopen(
  await compileC("inline_targets.c", ["-shared", "-fPIC", `-DVERBS=${calls.join(" ")}`]),
  {
    prepare: { parameters: [], result: "void" },
    context_of_targets: { parameters: [], result: "pointer" },
    object_of_targets: { parameters: [], result: "pointer" },
    last_reached: { parameters: [], result: "i32" },
    header_reaches: { parameters: ["buffer"], result: "i32" },
  },
);

function zero(type: unknown): unknown {
  if (type === "pointer") return null;
  if (type === "buffer") return new Uint8Array(512);
  return type === "u64" || type === "usize" ? 0n : 0;
}

function oursReaches(name: string, parameters: readonly unknown[]): number {
  const first = isOfContext(name) ? symbols.context_of_targets() : symbols.object_of_targets();
  symbols.last_reached();
  const verb = verbs()[name as keyof typeof inlineVerbs] as (...args: unknown[]) => unknown;
  verb(first, ...parameters.slice(1).map(zero));
  return symbols.last_reached();
}

symbols.prepare();
const reached = entries.map(([name, { definition: { parameters } }]) => [
  name,
  symbols.header_reaches(new TextEncoder().encode(`${name}\0`)),
  oursReaches(name, parameters),
]);
console.log(JSON.stringify(reached));
