/** What both sides of the exchange with a listener know beside its messages (`listener/README.md`). */

/** Headers of every call: whose installation it is, and its release. */
export const homeHeader = "x-superstep-home"
export const versionHeader = "x-superstep-version"

/** The longest time that a request for work waits at the control plane, in milliseconds. */
export const longestWaitMs = 25_000

/** Most deployments in one reply; others follow in the next. */
export const mostInReply = 20
