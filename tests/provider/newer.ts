// C for what the installed header lacks of the table of layouts: the recorder is always a libibverbs of the newest version.

import type { Field, FieldType, Struct } from "../../ffi/layout.ts";
import { enums, structs } from "../../ffi/mod.ts";

const FILES = ["verbs.h", "verbs_api.h", "ib_user_ioctl_verbs.h"];
/** Structs that older headers have with fewer fields: the recorder reaches their fields by offsets. */
const GROWN = ["ibv_device_attr_ex", "ibv_dm", "ibv_port_attr", "ibv_qp_ex"] as const;

const TYPES: Readonly<Record<Exclude<FieldType, "bytes">, string>> = {
  u8: "uint8_t",
  u16: "uint16_t",
  u32: "uint32_t",
  u64: "uint64_t",
  i32: "int32_t",
  i64: "int64_t",
  be16: "__be16",
  be32: "__be32",
  be64: "__be64",
  ptr: "void *",
};

/** The tags of verbs: those of connections have a library of their own. */
function ofVerbs<T>(table: Readonly<Record<string, T>>): [string, T][] {
  return Object.entries(table).filter(([tag]) => /^(ibv|verbs)_/.test(tag));
}

/** The text of a header that declares them. */
export async function newerHeader(): Promise<string> {
  const texts = await Promise.all(
    FILES.map((name) => Deno.readTextFile(`/usr/include/infiniband/${name}`)),
  );
  const known = new Set(texts.join("\n").match(/\w+/g));
  return [
    "#include <infiniband/verbs.h>\n",
    ...ofVerbs<Struct>(structs).filter(([tag]) => !known.has(tag)).map(structOf),
    ...ofVerbs<Members>(enums).map(([tag, members]) =>
      known.has(tag) ? constantsOf(members, known) : enumOf(tag, members)
    ),
    ...GROWN.map((tag) => offsetsOf(tag, structs[tag])),
  ].join("");
}

function structOf([tag, { size, fields }]: [string, Struct]): string {
  const members = Object.entries<Field>(fields).map(([name, { type }]) => {
    if (type === "bytes") throw new Error(`Cannot declare ${tag}.${name}`);
    return `\t${TYPES[type]} ${name};\n`;
  });
  const text = `struct ${tag} {\n${members.join("")}};\n`;
  return `${text}_Static_assert(sizeof(struct ${tag}) == ${size}, "its size");\n`;
}

type Members = Readonly<Record<string, number | bigint>>;

function enumOf(tag: string, members: Members): string {
  const list = Object.entries(members).map(([name, value]) => `${name} = ${value}`);
  return `enum ${tag} { ${list.join(", ")} };\n`;
}

function constantsOf(members: Members, known: ReadonlySet<string>): string {
  return Object.entries(members).filter(([name]) => !known.has(name))
    .map(([name, value]) => `#define ${name} ${value}\n`).join("");
}

function offsetsOf(tag: string, { size, fields }: Struct): string {
  const offsets = Object.entries<Field>(fields).filter(([name]) => !name.includes("."))
    .map(([name, { offset }]) => `#define OFFSET_${tag}_${name} ${offset}\n`);
  return `#define SIZE_${tag} ${size}\n${offsets.join("")}`;
}
