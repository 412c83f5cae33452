/** Reads the whole table from the installed header. */

import { lastLines, SetupError } from "../host/setup.ts";
import { readEntries } from "./dwarf.ts";
import type { Integer, Integers, Layout, Struct } from "./model.ts";
import { type Architecture, gcc, HEADER } from "./toolchain.ts";
import { isAggregate, membersOf, structOf } from "./types.ts";

/** The headers of the libraries. */
const FILES = /\/(infiniband\/(verbs|verbs_api|efadv|ib_user_ioctl_verbs)|rdma\/rdma_cma)\.h$/;
/** The structs and enums of all, the addresses of the system that connections have, and what waits. */
const OURS = /^(ibv|verbs|rdma|efadv)_(?!driver_id)|^(sockaddr_in6?|epoll_event)$/;
/** Types and constants of the kernel's interface: verbs have names of their own for those they use. */
const KERNEL = /^(ib_uverbs_|IB_UVERBS_)/;
/** Structs that only ever are parts of others, whose fields stand there, and those of addresses in subnets. */
const PARTS = /^(ibv_context_ops|ibv_flow_spec|rdma_(addr|ib_addr|route)|ibv_(sa|path)_\w+)$/;
/** Fields that are frozen, and those of a struct that begins or ends another one and is in the table itself. */
const FIELDS = /^(_?ABI_placeholder\d|ops\._compat_\w+|context\..*|qp_base\..*)$/;
/** Fields of structs of connections that are structs in the table, or of the system. */
/** Places of structs of EFA that newer headers give a name to. */
const RESERVED = /^efadv_\w+ (\w+\.)*reserved$/;
const INNER = /^(rdma|sockaddr)_\w+ (route\.addr\.\w+|param|ah_attr|sin6?_addr)\./;
/** What the library needs of the system's headers. The numbers are the same on both architectures. */
const SYSTEM = [
  ...[
    "EPERM",
    "ENOENT",
    "EINTR",
    "EBADF",
    "EAGAIN",
    "EINVAL",
    "ENOSYS",
    "ENODATA",
    "EPROTONOSUPPORT",
  ],
  ...["EOPNOTSUPP", "AF_INET", "AF_INET6", "IF_NAMESIZE"],
  ...["F_GETFL", "F_SETFL", "O_CREAT", "O_NONBLOCK", "EFD_CLOEXEC", "EFD_NONBLOCK", "POLLIN"],
  ...["EPOLL_CLOEXEC", "EPOLL_CTL_ADD", "EPOLL_CTL_MOD", "EPOLLIN", "EPOLLONESHOT"],
  ...["PROT_READ", "PROT_WRITE", "MAP_PRIVATE", "MAP_ANONYMOUS", "MAP_FAILED"],
  ...["PROT_NONE", "MAP_NORESERVE", "MLOCK_ONFAULT", "RLIMIT_MEMLOCK", "RLIM_INFINITY"],
  ...["RTLD_NOW", "RTLD_NOLOAD"],
];
/** What the name of an enumerator begins with that has the value of a macro. */
const VALUE = "value_of_";

/** What the header fixes on one architecture, as far as verbs are made of it: every line of the table costs time. */
export async function readHeader(arch: Architecture): Promise<Layout> {
  const macros = await readMacros(arch);
  // verbs_api.h renames types of the kernel's header by macros: the verbs name by the kernel's.
  const publicTags = new Map([...macros].map(([name, text]) => [text, name]));
  const structs: Record<string, Struct> = {};
  const enums: Record<string, Integers> = {};
  const constants: Record<string, Integer> = {};
  const names = [...macros.keys()].filter((name) => !KERNEL.test(name)).concat(SYSTEM);
  const source = HEADER + (await numericOf(arch, names)).map(enumOf).join("");
  for (const entry of await readEntries(arch, source)) {
    if (entry.attributes.has("declaration")) continue;
    const tag = entry.attributes.get("name") ?? "";
    const name = publicTags.get(tag) ?? tag;
    const isOurs = OURS.test(name) && !PARTS.test(name);
    if (entry.tag === "enumeration_type" && isOurs) enums[name] = membersOf(entry);
    else if (entry.tag === "enumeration_type" && name === "") {
      for (const [member, value] of Object.entries(membersOf(entry))) {
        if (member.startsWith(VALUE)) constants[member.slice(VALUE.length)] = value;
        else if (/^(IBV|RDMA|EFADV)_/.test(member)) constants[member] = value;
      }
    } else if (isAggregate(entry) && isOurs) {
      const { size, fields } = structOf(entry);
      const left = Object.entries(fields)
        .filter(([field]) =>
          !FIELDS.test(field) && ![INNER, RESERVED].some((left) => left.test(`${name} ${field}`))
        );
      structs[name] = { size, fields: Object.fromEntries(left) };
    }
  }
  return { structs, enums, constants };
}

/** Names and texts of all macros without parameters that the verbs headers define. */
async function readMacros(arch: Architecture): Promise<Map<string, string>> {
  const { status, stdout, stderr } = await gcc(arch, HEADER, "-E", "-dD");
  if (status !== 0) throw new SetupError(`Cannot read verbs.h: ${lastLines(stderr, 8)}`);
  const macros = new Map<string, string>();
  let ours = false;
  for (const line of stdout.split("\n")) {
    const marker = /^# \d+ "(.*?)"/.exec(line);
    if (marker) ours = FILES.test(marker[1]!);
    const definition = /^#define (\w+) (.+)$/.exec(line);
    if (ours && definition) macros.set(definition[1]!, definition[2]!);
  }
  return macros;
}

/** Of some macros, those that stand for a number, or for a pointer made from one. */
async function numericOf(arch: Architecture, names: readonly string[]): Promise<string[]> {
  const { stderr } = await gcc(arch, HEADER + names.map(enumOf).join(""), "-fsyntax-only");
  return names.filter((name) => !new RegExp(`^${name}:\\d+:.*error: `, "m").test(stderr));
}

/** The line marker makes the compiler name the macro in place of a file when it rejects the enum. */
function enumOf(name: string): string {
  return `#line 1 "${name}"\nenum { ${VALUE}${name} = ${numberOf(name)} };\n`;
}

/** C for the number that a macro stands for. Pointers are unsigned. */
export function numberOf(macro: string): string {
  const isPointer = `__builtin_classify_type(${macro}) == 5`;
  return `__builtin_choose_expr(${isPointer}, (unsigned long) (${macro}), (${macro}))`;
}
