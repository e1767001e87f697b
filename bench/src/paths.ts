import { fileURLToPath } from "node:url"

/** @param relative  relative to the folder of this package */
export const pathTo = (relative: string): string => fileURLToPath(new URL(`../${relative}`, import.meta.url))
