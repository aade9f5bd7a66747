import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { bundleWorkflowCode } from '@temporalio/worker'

/** Part of the build: bundles the compiled workflows once, so that no worker does it at its start. */
const workflowsPath = fileURLToPath(new URL('../../workflows/index.js', import.meta.url))
const { code } = await bundleWorkflowCode({ workflowsPath, logger: quiet() })
writeFileSync(fileURLToPath(new URL('../../workflow-bundle.js', import.meta.url)), code)

/** Webpack's progress is noise in a build; warnings and errors are not. */
function quiet() {
  const silent = () => undefined
  return { log: silent, trace: silent, debug: silent, info: silent, warn: console.warn, error: console.error }
}
