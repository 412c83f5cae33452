// Run by thunks_test.ts where thunks may be refused: prints whether an image can be opened.
import { buildImage } from "../../ffi/thunks/image.ts";
import { loadImage, ThunksUnavailable } from "../../ffi/thunks/memfd.ts";

const thunks = [{ name: "call", target: { path: [0] } }];
try {
  Deno.dlopen(loadImage(buildImage(thunks, Deno.build.arch, 0n)), {
    call: { parameters: ["pointer"], result: "void" },
  });
  console.log("opened");
} catch (error) {
  if (!(error instanceof ThunksUnavailable)) throw error;
  console.log(`${error.name}: ${(error.cause as Error).message}`);
}
