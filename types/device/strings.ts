/** The texts that libibverbs has for values of enums. */

import { verbs } from "../../ffi/library.ts";
import { readCString } from "../../ffi/pointers.ts";
import { integer } from "../core/checks.ts";
import type { EventType } from "./async_events.ts";
import type { NodeType } from "./device.ts";
import type { PortState } from "./port.ts";

/**
 * A kind of node in words (`ibv_node_type_str`), such as `"InfiniBand channel adapter"`.
 *
 * @category Devices and ports
 */
export function nodeTypeStr(nodeType: NodeType): string {
  return text(verbs().ibv_node_type_str(integer(nodeType, "nodeType", -1, 0x7fff_ffff)));
}

/**
 * A state of a port in words (`ibv_port_state_str`), such as `"active"`.
 *
 * @category Devices and ports
 */
export function portStateStr(state: PortState): string {
  return text(verbs().ibv_port_state_str(integer(state, "state", 0, 0x7fff_ffff)));
}

/**
 * A kind of asynchronous event in words (`ibv_event_type_str`), such as `"port active"`.
 *
 * @category Asynchronous events
 */
export function eventTypeStr(type: EventType): string {
  return text(verbs().ibv_event_type_str(integer(type, "type", 0, 0x7fff_ffff)));
}

function text(pointer: Deno.PointerValue): string {
  return pointer === null ? "unknown" : readCString(pointer);
}
