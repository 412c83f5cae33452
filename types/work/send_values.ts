import type { AddressHandle } from "../address_handle/address_handle.ts";
import * as handles from "../address_handle/address_handle.ts";
import * as checks from "../core/checks.ts";
import { nameOf } from "../core/enums.ts";
import { assertOpen } from "../core/resource.ts";
import { MemoryWindow, MwType } from "../memory/memory_window.ts";
import { type Binding, readBinding } from "./mw_bind.ts";
import * as others from "./request_list.ts";
import * as opcodes from "./opcodes.ts";
import { checkWrId as checkId } from "./request_buffer.ts";
import type { Element } from "./sge_list.ts";
import * as sges from "./sge_list.ts";
import { SendFlags, type SendRequest, WrOpcode } from "./work_request.ts";

// Constants of the module, which V8 folds: see send_requests.ts.
const { AddressHandle: Ah, isOpenAh } = handles;
const { boolean, instance, show, uint24, uint32, uint64 } = checks;
const { Given, HAS, namesOfGiven, RULES } = opcodes;
const { NO_MEMORY, readSge } = sges;
const checkWrId = checkId;
const { assertObject, assertRequest, unknownAttribute } = others;
const { SEND } = WrOpcode;
const { FENCE, INLINE, SIGNALED, SOLICITED } = SendFlags;

/** A send request that was read and checked. Attributes that were left out are 0. */
class SendValues {
  wrId: number | bigint = 0;
  opcode = 0;
  sendFlags = 0;
  memory: Element | readonly Element[] = NO_MEMORY;
  /** The attributes that were given: bits of {@linkcode Given}. */
  given = 0;
  immData = 0;
  invalidateRkey = 0;
  ah: AddressHandle | undefined = undefined;
  remoteQpn = 0;
  remoteQkey = 0;
  remoteAddr = 0n;
  rkey = 0;
  compareAdd = 0n;
  swap = 0n;
  remoteSrqn = 0;
  mw: MemoryWindow | undefined = undefined;
  binding: Binding | undefined = undefined;
}

export type { SendValues };

/** An object for each request would cost more than all else. This one is valid until the next call. */
const values = new SendValues();

const KNOWN: ReadonlySet<string> = new Set<keyof SendRequest>([
  ...Object.keys(Given) as (keyof typeof Given)[],
  "wrId",
  "opcode",
  "signaled",
  "inline",
  "fence",
  "solicited",
  "sendFlags",
  "sge",
]);

/**
 * Reads and checks a request: first every property of the caller's, each once, then their values.
 *
 * @param maxSge The number of scatter/gather elements that there is room for.
 * @returns The values, until the next call.
 */
export function readSend(request: SendRequest, maxSge: number): SendValues {
  assertObject(request, "send");
  let isNamed = false;
  for (const name in request) {
    if (!isKnown(name)) throw unknownAttribute(request, name, "send");
    isNamed = true;
  }
  if (!isNamed) assertRequest(request, KNOWN, "send");
  const { wrId = 0, opcode = SEND, signaled, inline, fence, solicited, sendFlags, sge } = request;
  const { immData, invalidateRkey, ah, remoteQpn, remoteQkey } = request;
  const { remoteAddr, rkey, compareAdd, swap, remoteSrqn, mw, bindInfo } = request;
  const binding = bindInfo === undefined ? undefined : readBinding(bindInfo);
  const memory = sge === undefined ? NO_MEMORY : readSge(sge, maxSge);
  // no code of the caller runs from here on
  checkOpcode(opcode);
  checkWrId(wrId);
  values.wrId = wrId;
  values.opcode = opcode;
  values.memory = memory;
  values.sendFlags = flagsOf(sendFlags, signaled, inline, fence, solicited);
  values.immData = immData === undefined ? 0 : uint32(immData, "immData");
  values.invalidateRkey = invalidateRkey === undefined
    ? 0
    : uint32(invalidateRkey, "invalidateRkey");
  values.ah = ah === undefined ? undefined : openAh(ah);
  values.remoteQpn = remoteQpn === undefined ? 0 : uint24(remoteQpn, "remoteQpn");
  values.remoteQkey = remoteQkey === undefined ? 0 : uint32(remoteQkey, "remoteQkey");
  values.remoteAddr = remoteAddr === undefined ? 0n : uint64(remoteAddr, "remoteAddr");
  values.rkey = rkey === undefined ? 0 : uint32(rkey, "rkey");
  values.compareAdd = compareAdd === undefined ? 0n : uint64(compareAdd, "compareAdd");
  values.swap = swap === undefined ? 0n : uint64(swap, "swap");
  values.remoteSrqn = remoteSrqn === undefined ? 0 : uint24(remoteSrqn, "remoteSrqn");
  values.mw = mw === undefined ? undefined : windowToBind(mw);
  values.binding = binding;
  values.given = bit(immData, Given.immData) | bit(invalidateRkey, Given.invalidateRkey) |
    bit(ah, Given.ah) | bit(remoteQpn, Given.remoteQpn) | bit(remoteQkey, Given.remoteQkey) |
    bit(remoteAddr, Given.remoteAddr) | bit(rkey, Given.rkey) |
    bit(compareAdd, Given.compareAdd) | bit(swap, Given.swap) |
    bit(remoteSrqn, Given.remoteSrqn) | bit(mw, Given.mw) | bit(bindInfo, Given.bindInfo);
  checkFit(opcode, values.given);
  if (values.given & Given.remoteAddr) checkAlignment(opcode, values.remoteAddr);
  return values;
}

/** V8 compares names of properties by their addresses: the usual ones take 1 ns each, and 8 ns in the set. */
function isKnown(name: string): boolean {
  switch (name) {
    case "wrId":
    case "sge":
    case "ah":
    case "remoteQpn":
    case "remoteQkey":
    case "opcode":
    case "remoteAddr":
    case "rkey":
      return true;
    default:
      return KNOWN.has(name);
  }
}

function bit(value: unknown, attribute: number): number {
  return value === undefined ? 0 : attribute;
}

/** Checks that send requests offer an opcode. */
function checkOpcode(opcode: number): void {
  if (typeof opcode === "number" && RULES[opcode]?.offered) return;
  const shown = typeof opcode === "number" ? nameOf(WrOpcode, opcode) : show(opcode);
  const message = `Cannot send: opcode ${shown} is not offered`;
  throw typeof opcode === "number" ? new RangeError(message) : new TypeError(message);
}

/** Checks that an opcode has these attributes. */
export function checkFit(opcode: number, given: number): void {
  const wrong = given & ~HAS[opcode]!;
  if (wrong === 0) return;
  const [name] = namesOfGiven(wrong);
  throw new TypeError(
    `Cannot set request: the opcode ${nameOf(WrOpcode, opcode)} has no attribute ${name}`,
  );
}

/** Checks that the remote address of an atomic is a multiple of 8. */
export function checkAlignment(opcode: number, remoteAddr: bigint): void {
  if (!RULES[opcode]!.eightBytes || (remoteAddr & 7n) === 0n) return;
  throw new RangeError(
    `Cannot set request: remoteAddr 0x${remoteAddr.toString(16)} is not a multiple of 8, and ${
      nameOf(WrOpcode, opcode)
    } works on 8 bytes that are aligned`,
  );
}

/** Checks that a memory window is one that a request can bind, and is open. */
export function windowToBind(mw: MemoryWindow): MemoryWindow {
  assertOpen(instance(mw, MemoryWindow, "mw"));
  if (mw.type !== MwType.TYPE_2) {
    throw new TypeError("Cannot use mw: it is of type 1, which QueuePair.bindMw() binds");
  }
  return mw;
}

/** Checks that an address handle is one and is open. */
export function openAh(ah: AddressHandle): AddressHandle {
  if (isOpenAh(ah)) return ah;
  instance(ah, Ah, "ah");
  throw new TypeError("Cannot post send: the address handle is disposed");
}

function flagsOf(
  sendFlags: number | undefined,
  signaled: boolean | undefined,
  inline: boolean | undefined,
  fence: boolean | undefined,
  solicited: boolean | undefined,
): number {
  let flags: number = sendFlags === undefined ? SIGNALED : uint32(sendFlags, "sendFlags");
  if (signaled !== undefined) flags = withFlag(flags, SIGNALED, boolean(signaled, "signaled"));
  if (inline !== undefined) flags = withFlag(flags, INLINE, boolean(inline, "inline"));
  if (fence !== undefined) flags = withFlag(flags, FENCE, boolean(fence, "fence"));
  if (solicited !== undefined) flags = withFlag(flags, SOLICITED, boolean(solicited, "solicited"));
  return flags;
}

function withFlag(flags: number, flag: number, set: boolean): number {
  return (set ? flags | flag : flags & ~flag) >>> 0;
}
