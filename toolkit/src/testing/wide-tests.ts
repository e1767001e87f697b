/**
 * Tests that `npm test` leaves out. The wide tests take long or require third-party programs; each `.ci/run` runs a third of them
 * (`filesWithWideTests` in scripts/testing/test-order.mjs). A file that `npm test` need not even start is named `<name>.wide.test.ts`. The long
 * tests repeat much of what others show, with more kills, more data, or in another language; `.ci/run all` runs them.
 */

/** Whether the wide tests are enabled. */
export const runsWideTests = process.env.SUPERSTEP_WIDE_TESTS === "1"

/** Whether the long tests are enabled. */
export const runsLongTests = process.env.SUPERSTEP_LONG_TESTS === "1"

/** For the option `skip` of a wide test. @param why  the reason, such as "takes a minute" */
export const unlessWide = (why: string): string | false =>
  runsWideTests ? false : `${why}: .ci/run runs it, or SUPERSTEP_WIDE_TESTS=1`

/** For the option `skip` of a long test. @param why  the reason, such as "the wide campaign has fewer kills" */
export const unlessLong = (why: string): string | false =>
  runsLongTests ? false : `${why}: .ci/run all runs it, or SUPERSTEP_LONG_TESTS=1`
