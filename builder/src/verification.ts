/** Reads the output file of the verify program from a folder where the user's code writes too: nothing in it is trusted. */

import { basename, dirname } from "node:path"
import { readPlainFile, UnusableFile } from "@superstep/toolkit/files/read-plain-file"
import { checkForeign } from "@superstep/toolkit/text/check-foreign"
import { plainText, storableText } from "@superstep/toolkit/text/storable"
import { z } from "zod"
import { BuildFailed } from "./faults/build-failed.js"

// Room for a message and a few lines of source for each graph.
const maxBytes = 1024 * 1024

// Not cut here: secrets are removed from whole texts.
const shown = z.string().transform((text) => storableText(text, maxBytes))

const verification = z.object({
  graphs: z.array(plainText),
  failed: z.array(z.object({ graph_id: shown, message: shown, code_frame: shown.optional() })),
  langgraph_version: plainText.max(200).nullish(),
  lacks_schemas: z.boolean().default(false),
})

export type Verification = z.output<typeof verification>

/**
 * The error does not say what is wrong with the file's content, since that would quote it.
 * @returns  undefined when there is no file
 * @throws BuildFailed
 */
export async function readVerification(path: string): Promise<Verification | undefined> {
  const text = await readPlainFile(dirname(path), basename(path), maxBytes).catch((error: unknown) => {
    throw error instanceof UnusableFile ? unreadable() : error
  })
  return text === undefined ? undefined : parse(text)
}

function parse(text: string): Verification {
  try {
    const { data } = checkForeign(verification, JSON.parse(text))
    if (data) return data
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  // The agent's own code may have written the file, so its content is not quoted.
  throw unreadable()
}

const unreadable = () => new BuildFailed("graph_load_failed", "the verification produced no readable result")
