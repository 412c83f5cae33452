// What an editor shows while somebody writes a program: asked of Deno's language server.

import { assert, assertEquals } from "@std/assert";
import { inProject, project } from "../../../tools/host/paths.ts";

const PROGRAM = `import { type QueuePair, WrOpcode } from "./mod.ts";
declare const qp: QueuePair;
qp.postRecv({  });
qp.postSend({  });
qp.postSend({ opcode: WrOpcode.RDMA_READ,  });
`;

interface Answer {
  readonly id?: number;
  readonly method?: string;
  // deno-lint-ignore no-explicit-any
  readonly result?: any;
}

/** Asks a language server, one question after the other. */
class LanguageServer implements AsyncDisposable {
  readonly #process = new Deno.Command(Deno.execPath(), {
    args: ["lsp", "--quiet"],
    ...{ cwd: project, stdin: "piped", stdout: "piped", stderr: "null" },
  }).spawn();
  readonly #writer = this.#process.stdin.getWriter();
  readonly #reader = this.#process.stdout.getReader();
  #unread = new Uint8Array();
  #asked = 0;

  async send(message: object): Promise<void> {
    const body = new TextEncoder().encode(JSON.stringify({ jsonrpc: "2.0", ...message }));
    await this.#writer.write(new TextEncoder().encode(`Content-Length: ${body.length}\r\n\r\n`));
    await this.#writer.write(body);
  }

  // deno-lint-ignore no-explicit-any
  async ask(method: string, params: object | null): Promise<any> {
    const id = ++this.#asked;
    await this.send({ id, method, params });
    for (;;) {
      const answer = await this.#receive();
      if (answer.method !== undefined && answer.id !== undefined) {
        await this.send({ id: answer.id, result: [{ enable: true }] });
      } else if (answer.id === id) return answer.result;
    }
  }

  async #receive(): Promise<Answer> {
    for (;;) {
      const head = /^Content-Length: (\d+)\r\n(?:.+\r\n)*\r\n/.exec(
        new TextDecoder("latin1").decode(this.#unread),
      );
      const [start, length] = [head?.[0].length ?? 0, Number(head?.[1])];
      if (head !== null && this.#unread.length >= start + length) {
        const body = this.#unread.subarray(start, start + length);
        this.#unread = this.#unread.slice(start + length);
        return JSON.parse(new TextDecoder().decode(body));
      }
      const { value } = await this.#reader.read();
      assert(value !== undefined, "the language server has ended");
      this.#unread = new Uint8Array([...this.#unread, ...value]);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.ask("shutdown", null);
    await this.send({ method: "exit" });
    await this.#writer.close();
    await this.#reader.cancel();
    await this.#process.status;
  }
}

Deno.test("An editor offers what a request has, and tells what a member of an enum means", async () => {
  await using server = new LanguageServer();
  const [rootUri, uri] = [project, inProject("program_to_complete.ts")].map((path) =>
    `file://${path}`
  );
  const capabilities = { workspace: { configuration: true } };
  const initializationOptions = { enable: true };
  await server.ask("initialize", { processId: null, rootUri, capabilities, initializationOptions });
  await server.send({ method: "initialized", params: {} });
  const textDocument = { uri, languageId: "typescript", version: 1, text: PROGRAM };
  await server.send({ method: "textDocument/didOpen", params: { textDocument } });
  const complete = async (line: number): Promise<string[]> => {
    const position = { line, character: PROGRAM.split("\n")[line]!.indexOf("  }") + 1 };
    const { items } = await server.ask("textDocument/completion", {
      textDocument: { uri },
      position,
    });
    return items.map(({ label }: { label: string }) => label.replace("?", "")).sort();
  };
  assertEquals(await complete(2), ["sge", "wrId"]);
  const all = await complete(3);
  assertEquals(all.length, 20);
  assert(!all.some((name) => /^(#|set)/.test(name)), `methods of lists: ${all}`);
  const flags = ["fence", "inline", "sendFlags", "signaled", "solicited"];
  const ofRead = [...flags, "remoteAddr", "remoteSrqn", "rkey", "sge", "wrId"].sort();
  assertEquals(await complete(4), ofRead);
  const position = { line: 4, character: PROGRAM.split("\n")[4]!.indexOf("RDMA_READ") };
  const { contents } = await server.ask("textDocument/hover", { textDocument: { uri }, position });
  assert(JSON.stringify(contents).includes("Reads memory of the peer."), JSON.stringify(contents));
});

Deno.test("A complaint about a region without rights is about its rights", async () => {
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  const program = 'import { MemoryRegion, type ProtectionDomain } from "MOD";\n' +
    "declare const pd: ProtectionDomain;\nnew MemoryRegion(pd, 4096);\n";
  await Deno.writeTextFile(file, program.replace("MOD", `file://${inProject("mod.ts")}`));
  const env = { NO_COLOR: "1" };
  const checking = new Deno.Command(Deno.execPath(), { args: ["check", file], cwd: project, env });
  const { code, stderr } = await checking.output();
  await Deno.remove(file);
  const said = new TextDecoder().decode(stderr);
  assertEquals(code, 1);
  assert(said.includes("An argument for 'access' was not provided"), said);
  assertEquals(/Registration|overload/i.test(said), false, said);
});
