/**
 * The bounds that the schema of a unit's status sets to what a server has counted. A sum that would leave them starts again from zero, with all
 * that is counted beside it: readers take a count that falls for a restart of the server.
 */
export const mostOfOne = 2 ** 31 - 1
export const mostMs = 1e12
export const mostTokens = 1e15
