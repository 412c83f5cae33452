import { type Efa, efaRows } from "../../ffi/efa/functions.ts";
import { efa } from "../../ffi/efa.ts";
import type { AnyFunction } from "../../ffi/function_pointer.ts";
import { causeOf, type Causes } from "../core/causes.ts";
import { checked, type CheckOptions } from "../core/errors.ts";

/** Calls a function of libefa. If that fails, this throws the error, with a hint if the device is another one. */
export function callEfa<F extends keyof Efa>(
  name: F,
  action: string,
  args: Readonly<Parameters<Efa[F]>>,
  options: CheckOptions = {},
): NonNullable<ReturnType<Efa[F]>> {
  const result: ReturnType<Efa[F]> = (efa()[name] as AnyFunction)(...args);
  return checked(name, efaRows[name], result, action, {
    ...options,
    hint: (code) => options.hint?.(code) ?? causeOf(EFA_CAUSES, code, {}),
  });
}

export const EFA_CAUSES: Causes = [
  [
    "EOPNOTSUPP",
    "The device is no Elastic Fabric Adapter, or it, its driver or the installed libefa is older",
  ],
];
