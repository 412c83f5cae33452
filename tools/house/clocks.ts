/** Finds uses of timers and clocks that tests of programs may replace. */

import ts from "npm:typescript@5.9.3";
import { isOfLibrary } from "./library.ts";

const OWNED =
  /^((set|clear)(Timeout|Interval|Immediate)|queueMicrotask|(ref|unref)Timer|performance|Date|scheduler)$/;

/** The file that takes them when the library is imported. The others use them through it only. */
const OWNER = "wait/clock.ts";

/** Where files of the library use timers and clocks of the runtime, a line each. */
export function clockFaults(texts: ReadonlyMap<string, string>): string[] {
  return Array.from(texts).filter(([file]) => isOfLibrary(file) && file !== OWNER)
    .flatMap(([file, text]) =>
      usesIn(file, text).map((use) => `${file}:${use}, which a test may replace: see ${OWNER}`)
    );
}

function usesIn(file: string, text: string): string[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const uses: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node)) return;
    if (isUse(node)) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart());
      uses.push(`${line + 1} uses ${node.getText()}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return uses;
}

/** Whether it is one of those names, however it is reached; `timers.setTimeout` is that of the library. */
function isUse(node: ts.Node): boolean {
  if (ts.isStringLiteral(node)) return OWNED.test(node.text);
  if (ts.isPropertyAccessExpression(node)) return node.getText() === "AbortSignal.timeout";
  if (!ts.isIdentifier(node) || !OWNED.test(node.text)) return false;
  const { parent } = node;
  const isOwn = ts.isPropertyAccessExpression(parent) && parent.expression.getText() === "timers";
  return !isOwn;
}
