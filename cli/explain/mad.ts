/** Management datagrams (MAD), which queue pair 1 sends: connection managers communicate by them. */

import { hex } from "../shell/text.ts";
import { cmSection, cmSummary } from "./cm_message.ts";
import { type Field, fieldRows, type Form } from "./fields.ts";
import { attributeName, className, CM_CLASS, methodName } from "./mad_names.ts";
import type { Section } from "./section.ts";

export const MAD_SIZE = 256;
const HEADER_SIZE = 24;
/** Subnet managers use queue pair 0, all others 1. */
const LAST_QP = 1;
/** Whether a datagram of that length has a MAD at that place; not all of it may be captured. */
export function isMad(view: DataView, at: number, length: number): boolean {
  const destQp = view.getUint32(4) & 0xff_ffff;
  if (destQp > LAST_QP || length < at + MAD_SIZE) return false;
  return view.byteLength === at || view.getUint8(at) === 1;
}

/** A MAD in one line; empty if there is none. */
export function madSummary([header, message]: readonly Section[]): string {
  if (header === undefined) return "";
  if (message !== undefined) return `: ${cmSummary(message)}`;
  const texts = header.rows.filter(({ name }) => BRIEF.includes(name));
  return `: MAD, ${texts.map(({ name, text }) => `${name} ${text}`).join(", ")}`;
}

const BRIEF: readonly string[] = ["mgmtClass", "method", "status", "attributeId"];

/** The header of a MAD, and the message of a connection manager that is in it. */
export function madSections(view: DataView, at: number): Section[] {
  const [mgmtClass, attribute] = [view.getUint8(at + 1), view.getUint16(at + 16)];
  const isCm = mgmtClass === CM_CLASS;
  const message = isCm ? cmSection(attribute, view, at + HEADER_SIZE) : undefined;
  const name = message?.title ?? attributeName(mgmtClass, attribute);
  return [headerSection(view, at, name), ...message === undefined ? [] : [message]];
}

function headerSection(view: DataView, at: number, attribute: string): Section {
  const named = (nameOf: (value: number) => string, digits: number): Form => (value) =>
    `${hex(value, digits)} (${nameOf(value)})`;
  const fields: readonly Field[] = [
    ["mgmtClass", 1, 0, 8, named(className, 2)],
    ["classVersion", 2, 0, 8, "count"],
    ["method", 3, 0, 8, named(methodName, 2)],
    ["status", 4, 0, 16],
    ["transactionId", 8, 0, 64],
    ["attributeId", 16, 0, 16, named(() => attribute, 4)],
    ["attributeModifier", 20, 0, 32],
  ];
  return { key: "mad", title: "Management datagram (MAD)", rows: fieldRows(view, at, fields) };
}
