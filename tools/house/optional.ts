/** Finds optional properties that programs compiled with `exactOptionalPropertyTypes` cannot set to `undefined`. */

import ts from "npm:typescript@5.9.3";
import { isPublic } from "./library.ts";

/** What to write in place of the types of TypeScript that treat `undefined` differently. */
const INSTEAD: Readonly<Record<string, string>> = { Partial: "Optional", Required: "Complete" };

/** Where the library's types have such properties, a line each. */
export function optionalFaults(texts: ReadonlyMap<string, string>): string[] {
  return Array.from(texts).filter(([file]) => isPublic(file))
    .flatMap(([file, text]) => faultsIn(file, text));
}

function faultsIn(file: string, text: string): string[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const faults: string[] = [];
  const visit = (node: ts.Node): void => {
    if (isInside(node)) return;
    const fault = faultOf(node);
    if (fault !== undefined) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart());
      faults.push(`${file}:${line + 1} has ${fault}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return faults;
}

/** Whether it is code: no program that uses the library meets its types. */
function isInside(node: ts.Node): boolean {
  return ts.isBlock(node) || ts.isVariableStatement(node) || ts.isExpressionStatement(node);
}

function faultOf(node: ts.Node): string | undefined {
  if (ts.isTypeReferenceNode(node) || ts.isExpressionWithTypeArguments(node)) {
    const name = (ts.isTypeReferenceNode(node) ? node.typeName : node.expression).getText();
    const instead = Object.hasOwn(INSTEAD, name) ? INSTEAD[name] : undefined;
    return instead && `${name}<T>: write ${instead}<T> of internal/optional.ts`;
  }
  const isProperty = ts.isPropertySignature(node) || ts.isMappedTypeNode(node);
  if (!isProperty || !isOptional(node) || permitsUndefined(node.type)) return undefined;
  return `${node.getText().replaceAll(/\s+/g, " ")}: add "| undefined"`;
}

function isOptional({ questionToken }: ts.PropertySignature | ts.MappedTypeNode): boolean {
  return questionToken !== undefined && questionToken.kind !== ts.SyntaxKind.MinusToken;
}

function permitsUndefined(type: ts.TypeNode | undefined): boolean {
  const parts = type && ts.isUnionTypeNode(type) ? type.types : [type];
  return parts.some((part) => part?.kind === ts.SyntaxKind.UndefinedKeyword);
}
