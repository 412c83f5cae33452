/**
 * Finds the macros of the verbs headers.
 *
 * @module
 */
import { compile, header, preprocess, type Toolchain } from "./toolchain.ts";
import { isVerbsHeader } from "./type_reader.ts";

/** Names and texts of all macros without parameters that the verbs headers define. */
export async function readMacros(
  toolchain: Toolchain,
): Promise<Map<string, string>> {
  const text = await preprocess(toolchain, ["-dD"]);
  const macros = new Map<string, string>();
  let ours = false;
  for (const line of text.split("\n")) {
    const marker = /^# \d+ "(.*?)"/.exec(line);
    if (marker) ours = isVerbsHeader(marker[1] ?? "");
    const definition = /^#define (\w+) (.+)$/.exec(line);
    if (ours && definition) macros.set(definition[1] ?? "", definition[2] ?? "");
  }
  return macros;
}

/** Of some macros, those that stand for a number (or a pointer made from one). */
export async function selectNumeric(
  toolchain: Toolchain,
  names: readonly string[],
): Promise<string[]> {
  // A line marker makes the compiler name the macro in place of a file when it rejects a definition.
  const definitions = names.map((name, index) =>
    `#line 1 "${name}"\nunsigned long value_${index} = (unsigned long) (${name});\n`
  );
  const errors = await compile(
    toolchain,
    `#include <${header}>\n${definitions.join("")}`,
    ["-fsyntax-only", "-ftrack-macro-expansion=0"],
  );
  return names.filter((name) => !new RegExp(`^${name}:\\d+:.*error: `, "m").test(errors));
}
