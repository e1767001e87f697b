/** The rules of `auth.ts`, in a module that does not load a second time: an identity provider that is away, say. */
import { existsSync, writeFileSync } from "node:fs"

const mark = process.env.LOADED_BEFORE ?? ""
if (existsSync(mark)) throw new Error("this module loads once")
writeFileSync(mark, "")

export { auth } from "./auth.js"
