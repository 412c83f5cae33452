/** Gaps that stay, each with its reason. */

/** What a verb may lack. */
export type Gap = "bound" | "typed" | "tested";

/** Reasons by verb and gap. A reason for a gap that is not there is an error. */
export const REASONS: Readonly<Record<string, Readonly<Partial<Record<Gap, string>>>>> = {};
