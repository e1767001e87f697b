/**
 * What `using` holds is released when the function returns. `return work()` returns before the promise of the work has settled, so the work goes on
 * without what was held for it: only `return await work()` waits. Our formatter makes scopes visible by their indentation.
 */
const holds = /^( *)(?:await )?using \w/
const returned = /^ *(?:if \(.*\) )?return (?!await\b)([\w.]+)(?:<.*>)?\(/
// What is often called at an end and returns no promise.
const settled = /^(?:Object|JSON)\.|\.(?:map|filter|flatMap|sort|join|toString)$|^spawn$/

/** @param files  `{ path, text }` @returns problems as `{ path, line, message }` */
export function checkReturns(files) {
  return files
    .filter(({ path }) => /\.[mc]?tsx?$/.test(path))
    .flatMap(({ path, text }) => problemsIn(path, text.split("\n")))
}

function problemsIn(path, lines) {
  /** The indentation of the scopes that hold something. */
  let scopes = []
  return lines.flatMap((text, index) => {
    if (text.trim() === "") return []
    const indentation = text.length - text.trimStart().length
    scopes = scopes.filter((scope) => scope <= indentation)
    const [, held] = holds.exec(text) ?? []
    if (held !== undefined) scopes.push(held.length)
    const [, called] = returned.exec(text) ?? []
    if (called === undefined || settled.test(called) || !scopes.includes(indentation)) return []
    const message = `${called} may not be over when what \`using\` holds is released: write \`return await\`, or give a value that is no promise a name first`
    return [{ path, line: index + 1, message }]
  })
}
