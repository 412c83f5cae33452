/**
 * Takes a table apart into single numbers, each with the C expression that yields the true one.
 *
 * @module
 */
import { fieldTypes, type Integer, type Layout } from "./model.ts";

/** One number of the table. */
export interface Claim {
  /** Where it stands, such as "structs.ibv_wc.fields.status.offset". */
  readonly path: string;
  /** C expression for the true number; `TYPE` gives an index into `fieldTypes`. */
  readonly expression: string;
  /** What the table says. */
  readonly value: Integer;
}

/** Lists every number of a table, which does not say itself which of its structs are unions. */
export function listClaims(layout: Layout, unions: ReadonlySet<string>): Claim[] {
  return [
    ...structClaims(layout.structs, unions),
    ...Object.entries(layout.enums).flatMap(([tag, members]) =>
      Object.entries(members).map(([name, value]) => ({
        path: `enums.${tag}.${name}`,
        expression: `(enum ${tag}) ${name}`,
        value,
      }))
    ),
    ...Object.entries(layout.constants).map(([name, value]) => ({
      path: `constants.${name}`,
      expression: name,
      value,
    })),
  ];
}

/** One line for each claim that the truth contradicts. */
export function contradictions(
  claims: readonly Claim[],
  truth: ReadonlyMap<string, Integer>,
): string[] {
  return claims
    .filter(({ path, value }) => truth.get(path) !== value)
    .map(({ path, value }) =>
      `${path} is ${show(path, value)}, not ${show(path, truth.get(path))}`
    );
}

function structClaims(structs: Layout["structs"], unions: ReadonlySet<string>): Claim[] {
  const claims: Claim[] = [];
  for (const [tag, struct] of Object.entries(structs)) {
    const type = `${unions.has(tag) ? "union" : "struct"} ${tag}`;
    claims.push({
      path: `structs.${tag}.size`,
      expression: `sizeof(${type})`,
      value: struct.size,
    });
    for (const [name, field] of Object.entries(struct.fields)) {
      const path = `structs.${tag}.fields.${name}`;
      claims.push(
        {
          path: `${path}.offset`,
          expression: `__builtin_offsetof(${type}, ${name})`,
          value: field.offset,
        },
        {
          path: `${path}.size`,
          expression: `sizeof(FIELD(${type}, ${name}))`,
          value: field.size,
        },
        {
          path: `${path}.type`,
          expression: `TYPE(FIELD(${type}, ${name}))`,
          value: fieldTypes.indexOf(field.type),
        },
      );
    }
  }
  return claims;
}

function show(path: string, value: Integer | undefined): string {
  const isType = path.startsWith("structs.") && path.endsWith(".type");
  return isType ? `${fieldTypes[Number(value)]}` : `${value}`;
}
