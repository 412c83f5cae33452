// The requests that valid calls make, in every field: requests.txt has what C made of the same calls through the header's own
// inlines. For another call add its name and, below it, its verbs. After that run this file with IBVERBS_PRINT=1: it writes the
// fields anew. Compare them with what a program in C would give.

import { assertEquals, assertGreater } from "@std/assert";
import { Resource } from "../../../mod.ts";
import * as recorder from "../../provider/recorder.ts";
import { comparable, type ComparableCall, decode } from "../../provider/records.ts";
import { idle } from "../registry/recorder_device.ts";
import { callNamed, invoke } from "../registry/calls.ts";
import { ObjectSet } from "../registry/object_set.ts";

const FILE = new URL("requests.txt", import.meta.url);
/** Calls, each with a line for each verb that counts. */
const EXPECTED = Deno.readTextFileSync(FILE).trimEnd().split(/\n(?! )/);
const isPrinted = Deno.env.get("IBVERBS_PRINT") === "1";
const printed: string[] = [];
if (isPrinted) {
  addEventListener("unload", () => Deno.writeTextFileSync(FILE, printed.join("\n") + "\n"));
}

function lineOf({ verb, args, result, errno }: ComparableCall): string {
  const texts = Object.entries(args).map(([name, value]) => `${name}=${textOf(value)}`);
  return [verb, ...texts, "->", `${result}`, ...errno === 0 ? [] : [`errno ${errno}`]].join(" ");
}

/** The fields that are not zero, and what the pointers lead to. */
function textOf(value: ComparableCall["args"][string]): string {
  if (typeof value !== "object" || value === null) return String(value);
  const { tag, pointers } = value;
  const bytes = Uint8Array.fromHex(value.bytes);
  const targets = Object.entries(pointers).map(([at, target]) => `${at}:${target}`);
  const texts: string[] = [];
  for (let i = 0;; i++) {
    const fields = decode(tag, bytes, {}, i);
    const names = Object.keys(fields);
    if (names.length === 0) break;
    // A nested struct has its fields under longer names, and an address has its bytes.
    const leaves = names.filter((name) =>
      !names.some((other) => other.startsWith(`${name}.`)) && !name.includes("global.")
    );
    const given = leaves.map((name) => [name, fields[name]] as const).map(([name, field]) =>
      [name, field instanceof Uint8Array ? field.toHex() : field] as const
    ).filter(([, field]) => !/^(0+|null)$/.test(`${field}`));
    texts.push(given.map(([name, field]) => `${name}=${field}`).join(" "));
  }
  if (texts.length === 0) return [value.bytes, ...targets].join(" ");
  return `{${[texts.join(", "), ...targets].join(" ")}}`;
}
for (const expected of EXPECTED) {
  const [name, ...lines] = expected.split("\n") as [string, ...string[]];
  const verbs = new Set(lines.map((line) => line.trim().split(" ")[0]));
  Deno.test(`The request of ${name} is that of C in every field`, async () => {
    recorder.reset();
    const set = new ObjectSet();
    // What the program in C had from the start: objects are told by their numbers.
    set.mr.bytes.set(Uint8Array.from({ length: 4096 }, (_, i) => i));
    void set.cq;
    const call = callNamed(name);
    const prepared = await call.prepare(set);
    recorder.take();
    const made = await invoke(call, prepared);
    const requests = recorder.take().filter(({ verb }) => verbs.has(verb));
    if (made instanceof Resource) made.close();
    set.close();
    await idle();
    const seen = [name, ...comparable(requests).map(lineOf)].join("\n  ");
    printed.push(seen);
    if (!isPrinted) assertEquals(seen, expected);
  });
}

Deno.test("There is a request for each struct", () => assertGreater(EXPECTED.length, 60));
