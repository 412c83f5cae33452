// The words of V8 and of Deno for a mistake of the program that runs: from a library they name nothing that its caller knows.

/** A method or getter was called on an object of another class, which is the caller's mistake in the language itself. */
const OF_RECEIVERS = [
  /^Cannot (read|write) private member /,
  /^Receiver must be /,
  /^Illegal invocation/,
  / called on incompatible receiver /,
  / requires that 'this' be a /,
  // A private method of a class, called on nothing.
  /^Cannot read properties of (null|undefined) \(reading '[A-Z]\w*'\)$/,
];

/** The caller has revoked a proxy: nothing can be asked of it. */
const OF_REVOKED = / on a proxy that has been revoked$/;

const OF_MISTAKES = [
  /^Cannot (assign|convert|create propert|create proxy|define|delete|destructure|mix|perform)/,
  /^Cannot (read|redefine|set) propert/,
  /^Cannot (access '|add property|freeze|seal|use 'in')/,
  /^(?!Cannot ).* is not (a constructor|a function|async iterable|defined|extensible|iterable)/,
  /^Cannot .* is not a function or its return value/,
  /^Assignment to constant/,
  /^Class constructor /,
  /^Converting circular structure/,
  /^Derived constructors? /,
  /^Do not know how to serialize/,
  /^First argument to DataView/,
  /^Invalid (array|count|date|FFI|string length|time|typed array)/i,
  /^Maximum call stack/,
  /^Object prototype may only be/,
  /^Offset is outside|^Start offset|^offset is out of bounds|^byte length of /,
  /^Reduce of empty array/,
  /^Right-hand side of /,
  /^Spread syntax/,
  /^Symbol\(.*cannot be converted/,
  /^The number .* cannot be converted to a BigInt/,
  /^toString\(\) radix|^toFixed\(\) digits/,
  /^Unexpected (end of|non-whitespace|token)/,
  /^Expected (a )?(BigInt|buffer|foreign|integer|null|number|pointer)/i,
  /on a detached ArrayBuffer/,
  /cannot be shared/,
];

/** Whether an error is the engine's own, and not one that somebody wrote for the caller. */
export function isOfEngine(error: Error): boolean {
  if (error instanceof ReferenceError || error instanceof EvalError) return true;
  return OF_MISTAKES.some((words) => words.test(error.message)) || isOfReceivers(error);
}

/** Whether it says that the object of a call has another class, or is none any more. */
export function isOfReceivers({ message }: Error): boolean {
  return [...OF_RECEIVERS, OF_REVOKED].some((words) => words.test(message));
}
