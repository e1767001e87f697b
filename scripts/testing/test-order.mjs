/** Which files `npm test` starts. */

/**
 * Which files run their wide tests, from the value of SUPERSTEP_WIDE_TESTS: `1` all of them; `2/3` the second of three shares, which together
 * are all; nothing, none. Files that have only wide tests are dealt out by themselves, since they take longest.
 * @param value  of the setting
 * @returns      the files of `all` that run their wide tests
 * @throws Error  the value has another form
 */
export function filesWithWideTests(all, value) {
  if (value === undefined || value === "" || value === "0") return new Set()
  const [, share, shares] = /^([1-9]\d?)\/([1-9]\d?)$/.exec(value === "1" ? "1/1" : value) ?? []
  if (share === undefined || Number(share) > Number(shares))
    throw new Error(
      `SUPERSTEP_WIDE_TESTS is ${value}: use 1 for all wide tests, or K/N such as 2/3 for a share of them`,
    )
  const dealt = (files) => [...files].sort().filter((_, index) => index % Number(shares) === Number(share) - 1)
  return new Set([...dealt(all.filter(isWideFile)), ...dealt(all.filter((file) => !isWideFile(file)))])
}

/**
 * @param words  parts of paths; none choose all files
 * @param wide   the files that run their wide tests
 * @returns      the files to start, and those that have only wide tests and are left out
 */
export function chosenFiles(all, { words, wide }) {
  const named = all.filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  const isLeftOut = (file) => isWideFile(file) && !wide.has(file)
  return { files: named.filter((file) => !isLeftOut(file)), leftOut: named.filter(isLeftOut) }
}

const isWideFile = (file) => /\.wide\.test\./.test(file)
