import { NO_FILES } from "../../internal/texts.ts";
import { VerbsError } from "../../mod.ts";

/** Verbs that make something of which a device, the process or the system has a limited number. */
const MAKING = /^(ibv|rdma)_(open|alloc|create|reg)_/;

/** Whether an attempt to connect has failed because something is used up. Its error says what that is. */
export function isUsedUp(error: unknown): boolean {
  if (error instanceof VerbsError) return MAKING.test(error.verb);
  return noFiles(error) !== undefined;
}

/** The error of a call of Deno. If a limit is the reason, the error names it. */
export function withLimit(action: string, error: unknown): unknown {
  const reason = noFiles(error);
  return reason === undefined
    ? error
    : Object.assign(new Error(`Cannot ${action}: ${reason}`, { cause: error }), {
      code: codeOf(error),
    });
}

function noFiles(error: unknown): string | undefined {
  const code = codeOf(error);
  return code === "EMFILE" || code === "ENFILE" ? `the ${NO_FILES[code]}` : undefined;
}

function codeOf(error: unknown): string {
  const { code } = (error instanceof Error ? error : {}) as { readonly code?: unknown };
  return String(code);
}
