/** Objects as text: on one line, with the attributes that matter, as `console.log` shows them. */

import { quote } from "./checks.ts";

/** The name of a class and attributes, such as `QueuePair { qpType: "UD", qpNum: 17 }`. */
export function textOf(name: string, attributes: object): string {
  const texts = Object.entries(attributes).map(([key, value]) => `${key}: ${valueText(value)}`);
  const body = texts.length === 0 ? "{}" : `{ ${texts.join(", ")} }`;
  return name === "" ? body : `${name} ${body}`;
}

function valueText(value: unknown): string {
  if (typeof value === "string") return quote(value);
  if (typeof value === "bigint") return `${value}n`;
  if (Array.isArray(value)) return `[${value.map(valueText).join(", ")}]`;
  return isPlain(value) ? textOf("", value) : String(value);
}

function isPlain(value: unknown): value is object {
  return typeof value === "object" && value !== null &&
    Object.getPrototypeOf(value) === Object.prototype;
}

/** Gives attributes a text. Nothing else changes: JSON, comparisons and copies do not see it. */
export function withText<T extends object>(attributes: T): T {
  const value = (): string => textOf("", attributes);
  return Object.defineProperty(attributes, "toString", { value, configurable: true });
}

/**
 * The reason in the message of an error, without an action that is named already: after "Cannot connect to 10.0.0.1: "
 * the error "Cannot connect: nobody listens" says "nobody listens".
 */
export function reasonOf(error: unknown, action: string): string {
  const message = error instanceof Error ? error.message : String(error);
  const start = `Cannot ${action}: `;
  return message.startsWith(start) ? message.slice(start.length) : message;
}

/** Whose descriptors are used up, by the name of the errno, and where the limit is. */
export const NO_FILES: { readonly EMFILE: string; readonly ENFILE: string } = {
  EMFILE: 'process has no file descriptor left: "ulimit -n" shows the limit',
  ENFILE: "system has no file descriptor left: see /proc/sys/fs/file-max",
};
