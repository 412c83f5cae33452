import { assert, assertEquals, assertThrows } from "@std/assert";
import * as recorder from "../provider/recorder.ts";
import type { Fields, RecordedStruct } from "../provider/records.ts";

/** A call that is refused, the class of its error, and a part of the message. */
export type Refusal = readonly [
  call: () => unknown,
  type: new (...args: never[]) => Error,
  message: string,
];

/** Verbs that only look. */
const LOOKS = /query|get_/;

/** Whether the message of a refusal names what it is about. */
export function isNamed(message: string): boolean {
  return /^Cannot \w/.test(message) && !/ [ :]| \(\)/.test(message);
}

/** Asserts that each call is refused before it changes or makes anything. */
export function assertRefused(...refusals: readonly Refusal[]): void {
  recorder.take();
  for (const [call, type, message] of refusals) {
    const error = assertThrows(call, type as new (...args: unknown[]) => Error, message);
    assert(isNamed(error.message), error.message);
  }
  assertEquals(recorder.take().filter(({ verb }) => !LOOKS.test(verb)), []);
}

/** Takes any value for one of the type that is asked for. */
export const bad = (value: unknown): never => value as never;

/** The fields of a struct that the only call of a verb got. */
export function fieldsOf(verb: string, argument = "attr"): Fields {
  return (recorder.takeOne(verb).args[argument] as RecordedStruct).fields;
}
