import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runToEnd } from './command.mjs'
import { packageProgram } from './packages.mjs'

// `npm test [-- FILTER or options of vitest]`: all suites, and as the very last line how many tests passed, failed and
// were skipped. In CI a skipped test is a failure: there everything has to be able to run.

const folder = mkdtempSync(join(tmpdir(), 'evenkeel-results-'))
const report = join(folder, 'vitest.json')
let code
let totals
try {
  code = await runToEnd(process.execPath, [
    packageProgram('vitest', 'vitest.mjs'),
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
    ...process.argv.slice(2),
  ])
  totals = count(readReport(), code)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

for (const name of totals.skippedNames) console.log(`skipped: ${name}`)
if (process.env.CI && totals.skipped > 0) console.log('In CI no test may be skipped.')
console.log(`${totals.passed} passed, ${totals.failed} failed${totals.skipped > 0 ? `, ${totals.skipped} skipped` : ''}`)
process.exitCode = totals.failed > 0 || (process.env.CI && totals.skipped > 0) ? 1 : 0

/** Nothing when vitest did not get so far as to write one. */
function readReport() {
  try {
    return JSON.parse(readFileSync(report, 'utf8'))
  } catch {
    return undefined
  }
}

function count(results, exitCode) {
  const files = results?.testResults ?? []
  const tests = files.flatMap((file) => file.assertionResults)
  const having = (...states) => tests.filter((test) => states.includes(test.status))
  // A file that could not even be loaded has no tests to fail: it counts as one.
  const brokenFiles = files.filter((file) => file.status === 'failed' && file.assertionResults.length === 0)
  const skipped = having('skipped', 'pending', 'todo', 'disabled')
  let failed = having('failed').length + brokenFiles.length
  // Errors outside of tests (set-up, unhandled rejections) show in the exit code alone.
  if (exitCode !== 0 && failed === 0) failed = 1
  return { passed: having('passed').length, failed, skipped: skipped.length, skippedNames: skipped.map((test) => test.fullName) }
}
