/** What the source of the library has that should become less. */

import ts from "npm:typescript@5.9.3";

/** What to count in one source file. */
export interface Counts {
  readonly exports: number;
  /** `export let`: functions that are assigned elsewhere, so that no editor leads to them. */
  readonly assigned: number;
  readonly namespaces: number;
  /** Functions that write into C structs by hand, field by field. */
  readonly writers: number;
}

/** Counts in the text of a source file. */
export function countsOf(text: string): Counts {
  const file = ts.createSourceFile("file.ts", text, ts.ScriptTarget.Latest, true);
  const writers = new Set<ts.Node>();
  const offsets = new Set<string>();
  let exports = 0;
  let namespaces = 0;
  let assigned = 0;
  const visit = (node: ts.Node): void => {
    if (ts.isNamespaceImport(node)) namespaces++;
    if (ts.isVariableDeclaration(node) && OFFSET.test(node.initializer?.getText() ?? "")) {
      offsets.add(node.name.getText());
    }
    if (ts.isCallExpression(node) && writesField(node, offsets)) {
      writers.add(ts.findAncestor(node, ts.isFunctionLike) ?? file);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  for (const statement of file.statements) {
    const names = namesOf(statement);
    exports += names;
    const isLet = ts.isVariableStatement(statement) &&
      (statement.declarationList.flags & ts.NodeFlags.Let) !== 0;
    if (isLet) assigned += names;
  }
  return { exports, namespaces, assigned, writers: writers.size };
}

/** The number of names that a statement exports. */
function namesOf(statement: ts.Statement): number {
  if (ts.isExportDeclaration(statement)) {
    const { exportClause } = statement;
    // `export *`: nobody sees how many.
    if (exportClause === undefined) return Infinity;
    return ts.isNamedExports(exportClause) ? exportClause.elements.length : 1;
  }
  const modifiers = ts.canHaveModifiers(statement) ? ts.getModifiers(statement) : undefined;
  if (!modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) return 0;
  return ts.isVariableStatement(statement) ? statement.declarationList.declarations.length : 1;
}

const OFFSET = /\.offset\b/;

/** Whether a call is `writeField()`, or `view.setUint32(field.offset, ...)` and its like, also with a constant. */
function writesField(
  { expression, arguments: [place] }: ts.CallExpression,
  offsets: ReadonlySet<string>,
): boolean {
  if (ts.isIdentifier(expression)) return expression.text === "writeField";
  if (!ts.isPropertyAccessExpression(expression) || place === undefined) return false;
  if (!/^set(Big)?(Int|Uint|Float)\d+$/.test(expression.name.text)) return false;
  const text = place.getText();
  return OFFSET.test(text) || (text.match(/\w+/g) ?? []).some((word) => offsets.has(word));
}
