/** Which files of the library a value passes on its way to native code: seen in a run, on the recorder. */

import ts from "npm:typescript@5.9.3";
import { stdArguments } from "../host/jsr.ts";
import { inProject, sourcesIn } from "../host/paths.ts";
import { Tree } from "../mutants/tree.ts";
import { demand } from "../../rxe/host/shell.ts";
import { ensureForLibraryTests } from "../tests/of_library.ts";

/** Two marks: a byte of an address in memory is like one of them now and then, and hardly ever like both. */
const MARKS = [0xc9, 0x9d];

/** The files that each value passes. */
export interface Trails {
  /** From `QueuePair.postSend()` to `ibv_post_send`. */
  readonly wrId: readonly string[];
  /** From `ReplyPath.setAh()` for a completion to `ibv_create_ah`. */
  readonly sgidIndex: readonly string[];
}

export async function readTrails(): Promise<Trails> {
  await ensureForLibraryTests();
  const files = ["types", "ffi", "internal"].flatMap((folder) => sourcesIn(folder));
  using tree = new Tree(files.map((name) => ({
    name,
    content: instrument(name, Deno.readTextFileSync(inProject(name))),
  })));
  const options = ["--allow-all", "--no-check", ...await stdArguments()];
  const program = `${tree.path}/tools/house/trail/program.ts`;
  const [first, second] = await Promise.all(
    MARKS.map(async (mark): Promise<Trails> =>
      JSON.parse(await demand(Deno.execPath(), "run", ...options, program, String(mark)))
    ),
  );
  const both = (name: keyof Trails): string[] =>
    first![name].filter((file) => second![name].includes(file));
  return { wrId: both("wrId"), sgidIndex: both("sgidIndex") };
}

/** Makes each function of a source file note its arguments and its result. */
export function instrument(name: string, text: string): string {
  const changes: [at: number, text: string][] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && "body" in node && node.body !== undefined) {
      const body = node.body as ts.ConciseBody;
      const note = `noteArguments(${argumentsOf(node)})`;
      if (ts.isBlock(body)) changes.push([body.getStart() + 1, `${note};`]);
      else changes.push([body.getStart(), `(${note}, noteResult(`], [body.end, "))"]);
    }
    if (ts.isReturnStatement(node) && node.expression !== undefined) {
      changes.push([node.expression.getStart(), "noteResult("], [node.expression.end, ")"]);
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true));
  let changed = text;
  const inOrder = changes.map(([at, text], order) => ({ at, text, order }));
  inOrder.sort((a, b) => b.at - a.at || b.order - a.order);
  for (const { at, text } of inOrder) changed = changed.slice(0, at) + text + changed.slice(at);
  const up = "../".repeat(name.split("/").length - 1);
  return `import { noteArguments, noteResult } from "${up}tools/house/trail/note.ts";\n${changed}`;
}

function argumentsOf(node: ts.SignatureDeclaration): string {
  if (!ts.isArrowFunction(node)) return "arguments";
  const names = (name: ts.BindingName): string[] =>
    ts.isIdentifier(name)
      ? [name.text]
      : name.elements.flatMap((part) => ts.isOmittedExpression(part) ? [] : names(part.name));
  return `[${node.parameters.flatMap(({ name }) => names(name))}]`;
}
