/**
 * The part of @std/cli/parse-args this project uses, for machines that cannot
 * reach JSR. `node:util` cannot stand in: it takes a value only for the options
 * it was told of, and it turns no text into a number. Dotted names, which the
 * real package nests, are refused.
 *
 * @module
 */

import type { Args, ParseOptions, Values } from "./parse_args_types.ts";

export type { Args, ParseOptions };

type Value = string | number | boolean;

/**
 * Parses command line arguments into an object with one property for each
 * option and the operands in `_`.
 */
export function parseArgs<
  TDoubleDash extends boolean | undefined = undefined,
  B extends boolean | string | undefined = undefined,
  S extends string | undefined = undefined,
  C extends string | undefined = undefined,
  N extends string | undefined = undefined,
  D extends Record<string, unknown> | undefined = undefined,
  const A extends Record<string, string | readonly string[]> | undefined = undefined,
>(
  args: readonly string[],
  options: ParseOptions<B, S, C, N, D, A, TDoubleDash> = {},
): Args<Values<B, S, C, N, D, A>, TDoubleDash> {
  const found = new Parser(options as ParseOptions).parse(args);
  return found as Args<Values<B, S, C, N, D, A>, TDoubleDash>;
}

class Parser {
  readonly #options: ParseOptions;
  readonly #aliases: Map<string, Set<string>>;
  readonly #boolean: Set<string>;
  readonly #string: Set<string>;
  readonly #collect: Set<string>;
  readonly #negatable: Set<string>;
  readonly #found: Record<string, unknown> = {};
  readonly #operands: (string | number)[] = [];
  #args: string[] = [];

  constructor(options: ParseOptions) {
    this.#options = options;
    this.#aliases = aliasGroups(options.alias ?? {});
    this.#boolean = this.#named(options.boolean);
    this.#string = this.#named(options.string);
    this.#collect = this.#named(options.collect);
    this.#negatable = this.#named(options.negatable);
  }

  parse(args: readonly string[]): Record<string, unknown> {
    const end = args.indexOf("--");
    const tail = end < 0 ? [] : args.slice(end + 1);
    this.#args = end < 0 ? [...args] : args.slice(0, end);
    while (this.#args.length > 0) this.#parseNext(this.#args.shift()!);
    this.#addDefaults();
    if (this.#options["--"]) this.#found["--"] = tail;
    else this.#operands.push(...tail);
    return { ...this.#found, _: this.#operands };
  }

  #parseNext(arg: string): void {
    const long = /^--(no-)?(.+?)(?:=(.*))?$/s.exec(arg);
    if (long) this.#parseLong(arg, long);
    else if (/^-./s.test(arg)) this.#parseShort(arg);
    else this.#parseOperand(arg);
  }

  #parseOperand(arg: string): void {
    if (this.#options.unknown?.(arg) !== false) {
      this.#operands.push(this.#string.has("_") ? arg : toNumber(arg));
    }
    if (this.#options.stopEarly) this.#operands.push(...this.#args.splice(0));
  }

  #parseLong(arg: string, [, no = "", name, value]: RegExpExecArray): void {
    if (value !== undefined) {
      const isBoolean = this.#boolean.has(name!);
      this.#set(name!, isBoolean ? value !== "false" : value, arg);
    } else if (no && this.#negatable.has(name!)) {
      this.#set(name!, false, arg, true);
    } else {
      this.#set(no + name, this.#takeLongValue(no + name), arg);
    }
  }

  #takeLongValue(name: string): Value {
    const takesAny = !this.#boolean.has(name) && this.#options.boolean !== true;
    if (takesAny && this.#args[0] && !this.#args[0].startsWith("-")) {
      return this.#args.shift()!;
    }
    return this.#takeBoolean(name);
  }

  /** A cluster of one-letter options, the last of them perhaps with a value. */
  #parseShort(arg: string): void {
    for (let i = 1; i < arg.length - 1; i++) {
      const letter = arg[i]!;
      const attached = attachedValue(letter, arg.slice(i + 1));
      if (attached !== undefined) return this.#set(letter, attached, arg);
      this.#set(letter, this.#valueless(letter), arg);
    }
    const last = arg.at(-1)!;
    this.#set(last, this.#takeShortValue(last), arg);
  }

  #takeShortValue(name: string): Value {
    const next = this.#args[0];
    if (next && !this.#boolean.has(name) && !/^--?[^-]/.test(next)) {
      return this.#args.shift()!;
    }
    return this.#takeBoolean(name);
  }

  #takeBoolean(name: string): Value {
    const next = this.#args[0];
    if (next !== "true" && next !== "false") return this.#valueless(name);
    this.#args.shift();
    return next === "true";
  }

  #valueless(name: string): Value {
    return this.#string.has(name) ? "" : true;
  }

  #set(name: string, value: Value, arg: string, negated = false): void {
    const wanted = this.#isKnown(name, arg) ||
      this.#options.unknown?.(arg, name, value) !== false;
    if (!wanted) return;
    const typed = typeof value === "string" && !this.#string.has(name) ? toNumber(value) : value;
    const collected = this.#collect.has(name) && !negated;
    for (const key of this.#group(name)) this.#store(key, typed, collected);
  }

  #isKnown(name: string, arg: string): boolean {
    return this.#boolean.has(name) || this.#string.has(name) ||
      this.#collect.has(name) || this.#aliases.has(name) ||
      (this.#options.boolean === true && /^--[^=]+$/.test(arg));
  }

  #store(name: string, value: unknown, collected = false): void {
    if (name.includes(".")) {
      throw new Error(
        `Cannot parse option "${name}": dotted names need the real @std/cli`,
      );
    }
    // What these two hold is not for the command line to replace.
    if (name === "constructor" || name === "__proto__") return;
    const earlier = this.#found[name];
    if (!collected) this.#found[name] = value;
    else if (Array.isArray(earlier)) earlier.push(value);
    else this.#found[name] = [value];
  }

  #addDefaults(): void {
    for (const [name, value] of Object.entries(this.#options.default ?? {})) {
      if (Object.hasOwn(this.#found, name)) continue;
      for (const key of this.#group(name)) this.#store(key, value);
    }
    for (const name of this.#boolean) this.#addEmpty(name, false);
    for (const name of this.#string) this.#addEmpty(name);
  }

  #addEmpty(name: string, single?: boolean): void {
    if (Object.hasOwn(this.#found, name)) return;
    if (this.#collect.has(name)) this.#store(name, []);
    else if (single !== undefined) this.#store(name, single);
  }

  #named(names: unknown): Set<string> {
    const given = [names].flat().filter((name) => typeof name === "string");
    return new Set(given.flatMap((name) => this.#group(name)));
  }

  #group(name: string): string[] {
    return [name, ...this.#aliases.get(name) ?? []];
  }
}

function aliasGroups(
  alias: Record<string, string | readonly string[]>,
): Map<string, Set<string>> {
  const groups = new Map<string, Set<string>>();
  for (const [name, others] of Object.entries(alias)) {
    const group = new Set([name, ...[others].flat()]);
    for (const member of group) {
      groups.set(member, group.difference(new Set([member])));
    }
  }
  return groups;
}

/** The value that follows a letter within its own argument, if any does. */
function attachedValue(letter: string, rest: string): string | undefined {
  if (rest === "-") return rest;
  if (rest === "=") return "";
  if (/[A-Za-z]/.test(letter)) {
    const assigned = /=(.+)/.exec(rest);
    if (assigned) return assigned[1];
    if (/\d+(\.\d*)?(e-?\d+)?$/.test(rest)) return rest;
  }
  // A letter followed by punctuation: the rest is a path or the like.
  return rest.length > 1 && /^\W/.test(rest) ? rest : undefined;
}

function toNumber(text: string): string | number {
  return /\S/.test(text) && Number.isFinite(Number(text)) ? Number(text) : text;
}
