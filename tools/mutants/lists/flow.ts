/** Mutants of types/flow: the headers of ESP. */

import type { MutantsOf } from "../mutant.ts";

export const FLOW: readonly MutantsOf[] = [
  {
    file: "types/flow/esp_encap.ts",
    tests: ["library/flow/flow", "library/provider/flows"],
    mutants: [
      {
        id: "encap-most",
        replace: "if (list.length > MOST) {",
        by: "if (list.length > MOST + 1) {",
        wrong: "The ninth header is written beyond the memory of the list.",
      },
      {
        id: "encap-next",
        replace: "isLast ? 0n : start + BigInt(at + LINK)",
        by: "0n",
        wrong: "Only the first header is put around packets.",
      },
      {
        id: "encap-end",
        replace: "isLast ? 0n : start + BigInt(at + LINK)",
        by: "start + BigInt(at + LINK)",
        wrong: "Native code follows the list beyond its end.",
      },
      {
        id: "encap-fields",
        replace: "start + BigInt(fieldsAt)",
        by: "start + BigInt(base + MOST * LINK)",
        wrong: "All headers have the fields of the first one.",
      },
      {
        id: "encap-length",
        replace: "structs[layout!].fields.val.size",
        by: "structs[layout!].size",
        wrong: "Native code reads the fields of the next header as part of this one.",
      },
      {
        id: "encap-type",
        replace: "writeField(view, fields.type, type, at);",
        by: "writeField(view, fields.type, 0, at);",
        wrong: "Every header is of another type than its fields.",
      },
      {
        id: "encap-none",
        replace: "return list.length === 0 ? 0n : start + BigInt(base);",
        by: "return start + BigInt(base);",
        wrong: "An empty list is one header of zeros.",
      },
    ],
  },
  {
    file: "types/flow/flow_action_esp.ts",
    tests: ["library/flow/flow"],
    mutants: [
      {
        id: "esp-transport",
        replace: "if (flags & FlowActionEspFlags.TRANSPORT && given.espEncap !== undefined) {",
        by: "if (false) {",
        wrong: "Headers of transport mode, which has none, reach native code.",
      },
    ],
  },
];
