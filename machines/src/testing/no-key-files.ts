/** The master key of machines whose tests use none. */
import type { KeyFiles } from "../port/host.js"

const refuse = () => Promise.reject(new Error("this test uses no master key"))

export const noKeyFiles: KeyFiles = { read: refuse, writeFirst: refuse, promoteNext: refuse, removeNext: refuse }
