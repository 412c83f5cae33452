/** What command lines of tools consist of. The readers are those of the command-line tool and of the guest's package. */

export {
  type CommandLine,
  OptionError,
  type Options,
  readOptions,
  text,
} from "../../cli/shell/options.ts";
export { many, oneOf, positive } from "../../rxe/options.ts";
