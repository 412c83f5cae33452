/** A Worker of workers.ts. It answers each request with one text. */

import { listenUd, type UdAddress, type UdConn, type UdOptions } from "@rdma/ibverbs/net";

/** What the main thread asks for. */
export type Request =
  | {
    readonly kind: "start";
    readonly socket: UdOptions;
    /** Where to send the text. */
    readonly address: UdAddress;
    readonly text: string;
    /** The bytes that the device writes to. They are shared, not copied. */
    readonly memory: SharedArrayBuffer;
  }
  | { readonly kind: "read"; readonly offset: number; readonly length: number }
  | { readonly kind: "stop" };

// The types of a Worker's global scope exclude those of a program's.
declare const self: {
  onmessage: (event: { readonly data: Request }) => Promise<void>;
  postMessage(message: string): void;
};

let socket: UdConn;
let memory: SharedArrayBuffer;

self.onmessage = async ({ data }) => self.postMessage(await answer(data));

async function answer(request: Request): Promise<string> {
  switch (request.kind) {
    case "start":
      memory = request.memory;
      // Objects of the main thread cannot be used here. This opens the device once more.
      socket = await listenUd(request.socket);
      await socket.send(new TextEncoder().encode(request.text), request.address);
      return "started";
    case "read":
      return new TextDecoder().decode(new Uint8Array(memory, request.offset, request.length));
    case "stop":
      await socket[Symbol.asyncDispose]();
      return "stopped";
  }
}
