import { createRequire } from "node:module"

/** @returns  the version of this program, read from the files it was started from, whatever replaces them later */
export const release = (): string => (createRequire(import.meta.url)("../package.json") as { version: string }).version
