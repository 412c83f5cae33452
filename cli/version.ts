/** The version of the package. A test compares it with deno.json, which `deno publish` reads. */
export const VERSION = "0.1.0";
