/** The permission that the library needs. */

const WHY = "@rdma/ibverbs asks for ffi: it calls libibverbs and the C library.\n";

const NEEDED = "Requires ffi access to all libraries";

/** What Deno itself says. A permission broker may say something else. */
const DENOS_WORDS = /^Requires ffi access/;

/** Deno 2.9 declares no `partial` of a status: some of what is asked for is denied. */
type Status = Deno.PermissionStatus & { readonly partial?: boolean };

/**
 * Makes sure that the program may call all libraries: Deno calls through pointers only with the permission for all. If
 * it is not given, Deno prompts for it where somebody can answer, or asks its permission broker.
 *
 * @throws {Deno.errors.NotCapable} Without the permission, or with one that is narrowed to paths, or denied for some.
 */
export function askForFfi(): void {
  const status = ffiStatus();
  if (mayPrompt(status)) Deno.stderr.writeSync(new TextEncoder().encode(WHY));
  const said = refusal();
  if (said === undefined && !status.partial) return;
  throw new Deno.errors.NotCapable(`${NEEDED}${remedyOf(said, status)}`);
}

/** Whether flags or a person have given the permission. This asks nobody. */
export function isFfiGranted(): boolean {
  const { state, partial } = ffiStatus();
  return state === "granted" && !partial;
}

/** Why the permission is not given, in a few words; undefined if it is. This asks no person, only a permission broker. */
export function whyNoFfi(): string | undefined {
  const status = ffiStatus();
  const said = status.partial || mayPrompt(status) ? NEEDED : refusal();
  if (said === undefined) return undefined;
  const words = brokersWords(said, status);
  return words === undefined ? "it needs --allow-ffi" : `it needs ffi, and ${words}`;
}

/**
 * Whether a permission broker has given the permission. Queries report what flags allow, not what a broker does. The
 * permission must have been asked for.
 */
export function hasBroker(): boolean {
  return ffiStatus().state !== "granted" && refusal() === undefined;
}

function remedyOf(said: string | undefined, status: Status): string {
  const words = said && brokersWords(said, status);
  if (words) return `, and ${words}`;
  const { state, partial } = status;
  return partial || state === "denied"
    ? `, and it is denied for ${
      partial ? "some" : "all"
    }: run again with --allow-ffi and without --deny-ffi`
    : ": run again with --allow-ffi, without a list of paths";
}

/** What a permission broker says, if one has refused: the words are not Deno's, or flags allow what is refused. */
function brokersWords(said: string, { state, partial }: Status): string | undefined {
  const words = "the permission broker denies it";
  if (!DENOS_WORDS.test(said)) return `${words}: ${said}`;
  return state === "granted" && !partial ? words : undefined;
}

/** The words of the refusal; undefined if the permission is given. Making a null pointer needs it as well. */
function refusal(): string | undefined {
  try {
    Deno.UnsafePointer.create(0n);
  } catch (error) {
    return (error as Error).message;
  }
}

/** Whether Deno would ask a person. */
function mayPrompt({ state }: Status): boolean {
  return state === "prompt" && Deno.stdin.isTerminal() && Deno.stderr.isTerminal();
}

function ffiStatus(): Status {
  return Deno.permissions.querySync({ name: "ffi" });
}
