/** The wide tests: those that take minutes, or require third-party programs. `.ci/run` runs them. */

/** Whether they are enabled. */
export const runsWideTests = process.env.SUPERSTEP_WIDE_TESTS === "1"

/** For the option `skip` of a test. @param why  the reason, such as "takes a minute" */
export const unlessWide = (why: string): string | false =>
  runsWideTests ? false : `${why}: .ci/run runs it, or SUPERSTEP_WIDE_TESTS=1`
