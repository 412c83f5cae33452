/** Management datagrams (MAD), which queue pair 1 sends: connection managers talk by them. */

import { hex } from "../shell/text.ts";
import { cmSection } from "./cm_message.ts";
import { hexRow, row, type Section } from "./section.ts";

const MAD_SIZE = 256;
const HEADER_SIZE = 24;
const GSI_QP = 1;
const CM_CLASS = 7;

const CLASSES: Readonly<Record<number, string>> = {
  0x03: "subnet administration",
  0x04: "performance management",
  [CM_CLASS]: "communication management",
};

/** Whether a datagram to queue pair 1 has a MAD at that place. */
export function isMad(view: DataView, at: number): boolean {
  const destQp = view.getUint32(4) & 0xff_ffff;
  return destQp === GSI_QP && view.byteLength >= at + MAD_SIZE && view.getUint8(at) === 1;
}

/** The header of a MAD, and the message of a connection manager that is in it. */
export function madSections(view: DataView, at: number): Section[] {
  const attribute = view.getUint16(at + 16);
  const isCm = view.getUint8(at + 1) === CM_CLASS;
  const message = isCm ? cmSection(attribute, view, at + HEADER_SIZE) : undefined;
  return [headerSection(view, at, message?.title), ...message === undefined ? [] : [message]];
}

function headerSection(view: DataView, at: number, name: string | undefined): Section {
  const [mgmtClass, attribute] = [view.getUint8(at + 1), view.getUint16(at + 16)];
  const names = { class: CLASSES[mgmtClass] ?? "another class", attribute: name ?? "unknown" };
  return {
    key: "mad",
    title: "Management datagram (MAD)",
    rows: [
      row("mgmtClass", mgmtClass, `${hex(mgmtClass, 2)} (${names.class})`),
      row("classVersion", view.getUint8(at + 2)),
      hexRow("method", view.getUint8(at + 3), 2),
      hexRow("status", view.getUint16(at + 4), 4),
      row("transactionId", hex(view.getBigUint64(at + 8), 16)),
      row("attributeId", attribute, `${hex(attribute, 4)} (${names.attribute})`),
      hexRow("attributeModifier", view.getUint32(at + 20), 8),
    ],
  };
}
