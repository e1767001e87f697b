/** Users without an account, as a machine under root gives them to a deployment: one runs it, and one in its group builds it. */
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"

export const isolatedUser = (number: number): OsUser => ({ uid: 200_000 + number, gid: 200_000 + number })
export const builderBeside = ({ uid, gid }: OsUser): OsUser => ({ uid: uid + 100_000, gid })
