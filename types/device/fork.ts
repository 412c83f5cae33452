/** Processes that fork. */

import { verbs } from "../../ffi/library.ts";
import { type Members, members } from "../../ffi/members.ts";
import { check } from "../core/errors.ts";

/**
 * Whether registered memory is safe when the process forks (`enum ibv_fork_status`).
 *
 * - `DISABLED`: it is not
 * - `ENABLED`: {@linkcode forkInit} made it safe
 * - `UNNEEDED`: the kernel makes it safe
 *
 * @category Devices and ports
 */
export const ForkStatus: Members<"ibv_fork_status", "IBV_FORK_"> = members(
  "ibv_fork_status",
  "IBV_FORK_",
);
/**
 * A value of {@linkcode ForkStatus}.
 *
 * @category Devices and ports
 */
export type ForkStatus = typeof ForkStatus[keyof typeof ForkStatus];

/**
 * Makes registered memory safe when the process forks (`ibv_fork_init`). Call it before any memory is registered. Starting
 * a subprocess with `Deno.Command` forks. Kernels since 5.12 need no such call.
 *
 * @throws {VerbsError} EINVAL if memory is already registered, ENOSYS if the kernel cannot do it.
 * @category Devices and ports
 */
export function forkInit(): void {
  check("ibv_fork_init", "make memory safe for forks", verbs().ibv_fork_init());
}

/**
 * Whether registered memory is safe when the process forks (`ibv_is_fork_initialized`).
 *
 * @category Devices and ports
 */
export function isForkInitialized(): ForkStatus {
  return verbs().ibv_is_fork_initialized() as ForkStatus;
}
