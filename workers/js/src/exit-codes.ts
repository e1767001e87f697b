/** The exit codes of a worker, which the server distinguishes from those of user code. `docs/errors.md` explains them; a test compares the two. */
export const exitCodes = { connectionLost: 70, uncaught: 71 } as const
