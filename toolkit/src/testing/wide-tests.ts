/** The wider tests: those that take minutes, or need other people's programs. `.ci/run` runs them. */

/** Whether they are turned on. */
export const runsWideTests = process.env.SUPERSTEP_WIDE_TESTS === "1"

/** For the option `skip` of a test. @param why  what it takes: "takes a minute" */
export const unlessWide = (why: string): string | false =>
  runsWideTests ? false : `${why}: .ci/run runs it, or SUPERSTEP_WIDE_TESTS=1`
