/** What the functions of a copy call, whose source `instrument()` changed: it notes which files a value passes. */

const state = { holds: (_: unknown): boolean => false, isOn: false };
const files = new Set<string>();

/** The files that a value passes until `end()`: each has a function that runs while the value is an argument or a result. */
export function follow(holds: (value: unknown) => boolean, run: () => void): string[] {
  files.clear();
  Object.assign(state, { holds, isOn: true });
  Error.stackTraceLimit = Infinity;
  run();
  if (state.isOn) throw new Error("The value did not reach native code");
  return [...files].sort();
}

/** The value has reached native code. */
export function end(): void {
  if (state.isOn) addStack();
  state.isOn = false;
}

export function noteArguments(values: ArrayLike<unknown>): void {
  for (let i = 0; i < values.length; i++) noteResult(values[i]);
}

/** Notes the result of a function, and returns it. */
export function noteResult<T>(value: T): T {
  if (state.isOn && state.holds(value)) addStack();
  return value;
}

function addStack(): void {
  const folder = new URL("../../../", import.meta.url).href;
  for (const [, file] of new Error().stack!.matchAll(/(file:[^)\s]+?\.ts)/g)) {
    const path = file!.slice(folder.length);
    if (/^(types|ffi|internal)\//.test(path)) files.add(path);
  }
}

/** Whether a value is the mark or has it in its properties. Memory has it if it has such a byte. */
export function holder(mark: number | bigint, byte?: number): (value: unknown) => boolean {
  const holds = (value: unknown, depth: number): boolean => {
    if (value === mark) return true;
    if (typeof value !== "object" || value === null || depth === 0) return false;
    if (!ArrayBuffer.isView(value)) {
      return Object.values(value).some((part) => holds(part, depth - 1));
    }
    if (byte === undefined) return false;
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength).includes(byte);
  };
  return (value) => holds(value, 3);
}
