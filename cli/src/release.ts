import { createRequire } from "node:module"

/** @returns the version of this program: of the files it was started from, whatever is put in their place later */
export const release = (): string => (createRequire(import.meta.url)("../package.json") as { version: string }).version
