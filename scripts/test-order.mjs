/** Which files `npm test` starts, and in which order. */

// Files of these packages start servers and installations and take up to a minute, the long test of the bench two; other files take
// seconds. With the short ones last, all processors finish at about the same time.
const slowestFirst = ["bench/", "cli/", "control/", "tests/", "workers/", "toolkit/"]

/**
 * @param files  paths relative to the root
 * @returns      the same files, those of the slow packages first
 */
export function startingOrder(files) {
  const rank = (file) => {
    const place = slowestFirst.findIndex((folder) => file.startsWith(folder))
    return place < 0 ? slowestFirst.length : place
  }
  return [...files].sort((one, other) => rank(one) - rank(other))
}

/**
 * @param words  parts of paths; none choose all files
 * @param wide   whether wide tests run
 * @returns      the files to start, and those that only a run with wide tests starts
 */
export function chosenFiles(all, { words, wide }) {
  const named = all.filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  const isLeftOut = (file) => !wide && /\.wide\.test\./.test(file)
  return { files: named.filter((file) => !isLeftOut(file)), leftOut: named.filter(isLeftOut) }
}
