/** What compiled packages depend on: an artefact runs only where this is the same. Pure. */
import type { NodeProgram } from "../builders/choose-node.js"

export const platformOf = ({ version }: Pick<NodeProgram, "version">): string =>
  `node ${version} ${process.platform} ${process.arch}`

/** @returns undefined for what `platformOf` did not write */
export const nodeVersionOf = (platform: string): string | undefined => /^node (v[\d.]+) /.exec(platform)?.[1]
