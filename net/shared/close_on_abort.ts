export { closeOnAbort } from "../../internal/abort.ts";
