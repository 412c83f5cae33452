import { structs } from "../../ffi/layout.ts";
import type { AddressHandle } from "../address_handle/address_handle.ts";
import * as handles from "../address_handle/address_handle.ts";
import { nameOf } from "../core/enums.ts";
import { baseOf, type ProtectionDomain } from "../memory/protection_domain.ts";
import type { OpcodeRule } from "./opcodes.ts";
import * as opcodes from "./opcodes.ts";
import type { RequestBuffer } from "./request_buffer.ts";
import { SendFlags, WrOpcode } from "./work_request.ts";

// Constants of the module, which V8 folds: see send_requests.ts.
const { isOpenAh } = handles;
const { DATAGRAM, Given, namesOfGiven, RULES } = opcodes;
const { size: SIZE, fields } = structs.ibv_send_wr;
const OPCODE = fields.opcode.offset >> 2;
const FLAGS = fields.send_flags.offset >> 2;
const { INLINE } = SendFlags;

/** The rules of one queue pair for its sends. */
export interface SendRules {
  /** The transport in messages, such as "UD". */
  readonly transport: string;
  /** The opcodes of the transport, one bit each. */
  readonly opcodes: number;
  /** Attributes that sends need to reach a receive of the peer: bits of {@linkcode Given}. */
  readonly needs: number;
  /** Datagrams: the protection domain that address handles must belong to. */
  readonly pd: ProtectionDomain | undefined;
  /** The largest message in bytes. */
  readonly maxMessage: number;
  /** The largest inline message in bytes. */
  readonly maxInline: number;
  /** Whether every send has a completion, signaled or not. */
  readonly allSignaled: boolean;
}

/**
 * Checks that a request may be posted.
 *
 * @param given The attributes that the request has: bits of {@linkcode Given}.
 * @param ah Its address handle.
 */
export function checkSend(
  buffer: RequestBuffer,
  index: number,
  given: number,
  ah: AddressHandle | undefined,
  rules: SendRules,
): void {
  const { words } = buffer;
  const at = index * (SIZE >> 2);
  const opcode = words[at + OPCODE]!;
  const rule = RULES[opcode]!;
  if ((rules.opcodes >>> opcode & 1) === 0) throw notOfTransport(rules, opcode);
  const missing = (rule.needs | (rule.consumes ? rules.needs : 0)) & ~given;
  if (missing !== 0) throw missingAttribute(rules, opcode, missing);
  checkLength(buffer.lengths[index]!, opcode, rule, rules);
  if (rules.pd !== undefined) checkAh(ah!, rules.pd);
  buffer.assertMemory(index);
  if ((words[at + FLAGS]! & INLINE) !== 0) checkInline(buffer, index, opcode, rule, rules);
}

function checkLength(
  length: number,
  opcode: number,
  { eightBytes }: OpcodeRule,
  { maxMessage }: SendRules,
): void {
  if (length > maxMessage) {
    throw new RangeError(
      `Cannot post send: its message has ${length} bytes, and the port's MTU allows ${maxMessage}`,
    );
  }
  if (eightBytes && length !== 8) {
    throw new RangeError(
      `Cannot post send: its memory has ${length} bytes, and ${
        nameOf(WrOpcode, opcode)
      } works on 8`,
    );
  }
}

function checkInline(
  buffer: RequestBuffer,
  index: number,
  opcode: number,
  { inline }: OpcodeRule,
  { maxInline }: SendRules,
): void {
  if (!inline) {
    throw new TypeError(
      `Cannot post send: ${nameOf(WrOpcode, opcode)} has no data that can be inline`,
    );
  }
  const length = buffer.lengths[index]!;
  if (length > maxInline) {
    throw new RangeError(
      `Cannot post send: its inline data has ${length} bytes, and the queue pair allows ${maxInline} (cap.maxInlineData)`,
    );
  }
  buffer.assertInlineMemory(index);
}

function checkAh(ah: AddressHandle, pd: ProtectionDomain): void {
  if (!isOpenAh(ah)) throw new TypeError("Cannot post send: the address handle is disposed");
  if (ah.pd !== pd && baseOf(ah.pd) !== pd) {
    throw new TypeError(
      "Cannot post send: the address handle belongs to another protection domain than the queue pair",
    );
  }
}

function notOfTransport({ transport }: SendRules, opcode: number): TypeError {
  return new TypeError(
    `Cannot post send: a queue pair of type ${transport} has no opcode ${nameOf(WrOpcode, opcode)}`,
  );
}

function missingAttribute({ transport }: SendRules, opcode: number, missing: number): TypeError {
  if (missing & Given.ah) {
    return new TypeError(
      `Cannot post send: on a ${transport} queue pair it needs an address handle (ah)`,
    );
  }
  const names = namesOfGiven(missing).join(", ");
  const who = missing & (DATAGRAM | Given.remoteSrqn)
    ? `on a ${transport} queue pair it`
    : nameOf(WrOpcode, opcode);
  return new TypeError(`Cannot post send: ${who} needs ${names}`);
}
