/** A file that fails to load, with an error that cannot be read. */
import { Unreadable } from "./unreadable.js"

export const graph = undefined

throw new Unreadable()
