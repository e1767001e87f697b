/** The order in which `npm test` starts its files. */

// Files of these packages start servers and installations and take up to a minute, the wide test of the bench two; other files take
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
