/** Receive side scaling and flow rules: hashes, their input, and specifications. */

import { structs } from "../../ffi/layout.ts";
import { readField } from "../../ffi/struct.ts";
import { type FlowSpec, FlowSpecType, formatAddress, parseAddress } from "../../mod.ts";
import { type RssFlow, rssInput, toeplitz, ToeplitzKey } from "../../rss.ts";
import type { AttributeCodec } from "../../types/core/attributes.ts";
import { writeSpecs } from "../../types/flow/flow_spec.ts";
import { filters } from "../../types/flow/flow_filter.ts";
import { addressText, bytes, hostileText, wrong } from "./inputs.ts";
import { expected, fc, same, type Target, target } from "./target.ts";

/** The hash by the definition: one bit of input and 32 bits of key at a time. */
function slowToeplitz(key: Uint8Array, input: Uint8Array): number {
  const bits = (bytes: Uint8Array): string =>
    [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  const all = bits(key);
  return [...bits(input)].reduce(
    (hash, bit, i) => bit === "1" ? (hash ^ parseInt(all.slice(i, i + 32), 2)) >>> 0 : hash,
    0,
  );
}

function checkToeplitz(key: Uint8Array<ArrayBuffer>, input: Uint8Array<ArrayBuffer>): void {
  const isLong = key.length >= input.length + 4;
  for (const hash of [() => toeplitz(key, input), () => new ToeplitzKey(key).hash(input)]) {
    try {
      same(hash(), slowToeplitz(key, input), "hash");
      same(isLong, true, "a short key is refused");
    } catch (error) {
      if (isLong) throw error;
      expected(error, RangeError);
    }
  }
}

const anyBytes = fc.oneof(bytes(4), bytes(16), bytes(0, 20));
const anyAddress = fc.oneof(addressText, fc.ipV4(), fc.ipV6(), anyBytes, wrong);
const anyPort = fc.oneof(fc.nat(0xffff), fc.constant(undefined), wrong);
const rssFlow = fc.record({
  source: anyAddress,
  destination: anyAddress,
  protocol: fc.constantFrom("tcp", "udp", undefined),
  sourcePort: anyPort,
  destinationPort: anyPort,
}) as fc.Arbitrary<RssFlow>;

function checkRssInput(flow: RssFlow, fields: number, symmetric: boolean): void {
  try {
    const input = rssInput(flow, fields, { symmetric });
    const { source, destination, sourcePort, destinationPort } = flow;
    const size = (typeof source === "string" ? parseAddress(source) : source).length;
    const lengths = [0, size, 2 * size].flatMap((both) => [both, both + 2, both + 4]);
    same(lengths.includes(input.length), true, "length");
    if (!symmetric) return;
    const ports = { sourcePort: destinationPort, destinationPort: sourcePort };
    const back = { ...flow, source: destination, destination: source, ...ports };
    const pairs = [0x3, 0xc, 0x30, 0xc0].every((pair) => [0, pair].includes(fields & pair));
    if (pairs) same(rssInput(back, fields, { symmetric }), input, "the other direction");
  } catch (error) {
    expected(error, RangeError, TypeError, SyntaxError);
  }
}

type Fields = Readonly<Record<string, unknown>>;

/** A filter of a codec's attributes. Few of them are wrong. */
function filterOf(codec: AttributeCodec<object>): fc.Arbitrary<object> {
  const zeros = codec.read(new DataView(new ArrayBuffer(codec.size))) as Fields;
  const mac = bytes(6).map((mac) => mac.toHex().match(/../g)!.join(":"));
  const ip = zeros.srcIp === "::" ? bytes(16).map(formatAddress) : fc.ipV4();
  const model = Object.entries(zeros).map(([name, zero]) => {
    const good = typeof zero === "number" ? fc.nat(255) : name.endsWith("Mac") ? mac : ip;
    const bad = typeof zero === "number"
      ? fc.oneof(fc.nat(), wrong)
      : fc.oneof(hostileText, anyAddress);
    return [name, fc.oneof({ weight: 15, arbitrary: good }, { weight: 1, arbitrary: bad })];
  });
  return fc.record(Object.fromEntries(model), { requiredKeys: [] });
}

const filterSpec = fc.constantFrom(...filters()).chain(([type, [, codec]]) =>
  fc.record({
    type: fc.constant(type),
    val: filterOf(codec),
    mask: filterOf(codec),
    inner: fc.boolean(),
  }, { requiredKeys: ["type", "val", "mask"] })
);
const otherSpec = fc.record({
  type: fc.oneof(fc.constantFrom(...Object.values(FlowSpecType)), wrong),
  tagId: fc.oneof(fc.nat(), wrong),
  inner: wrong,
}, { requiredKeys: ["type"] });
const flowSpecs = fc.array(
  fc.oneof({ weight: 4, arbitrary: filterSpec }, { weight: 1, arbitrary: otherSpec }),
  { maxLength: 3 },
);

function checkFlow(specs: unknown[]): void {
  let written: ReturnType<typeof writeSpecs>;
  try {
    written = writeSpecs(specs as FlowSpec[]);
  } catch (error) {
    expected(error, RangeError, TypeError, SyntaxError);
    return;
  }
  for (const [i, { view }] of written.entries()) {
    const { type, size } = structs.ibv_flow_spec_action_drop.fields;
    const spec = specs[i] as { type: number; inner?: boolean; val: Fields; mask: Fields };
    same(readField(view, size), view.byteLength, "size");
    same(readField(view, type), spec.type | (spec.inner ? FlowSpecType.INNER : 0), "type");
    const filter = filters().get(spec.type);
    if (filter === undefined) continue;
    const [layout, codec] = filter;
    for (const part of ["val", "mask"] as const) {
      const read = codec.read(view, structs[layout].fields[part].offset) as Fields;
      for (const [name, value] of Object.entries(spec[part])) {
        if (typeof value === "number") same(read[name], value, `${part}.${name}`);
      }
    }
  }
}

const hashed = [bytes(0, 56), bytes(0, 48)] as const;
const fields = fc.oneof(fc.nat(0xff), fc.nat(), fc.constantFrom(0x80000003, -1, 1.5));
const rss = [rssFlow, fields, fc.boolean()] as const;

export const FLOWS: readonly Target[] = [
  target("toeplitz", [40, 60], "toeplitz() and ToeplitzKey, bit by bit", hashed, checkToeplitz),
  target(
    "rss-input",
    [79, 99],
    "rssInput() of flows with good and wrong parts",
    rss,
    checkRssInput,
  ),
  target("flow-specs", [30, 50], "specifications of flow rules", [flowSpecs], checkFlow),
];
