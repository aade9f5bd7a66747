import { existsSync, readFileSync } from 'node:fs'
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import { fileURLToPath } from 'node:url'

// Runs TypeScript as it lies here: imports say `.js`, as NodeNext wants it, and the files are `.ts`.
process.removeAllListeners('warning')
registerHooks({
  resolve(specifier, context, next) {
    if (specifier.startsWith('.') && specifier.endsWith('.js') && context.parentURL) {
      const source = new URL(specifier.replace(/\.js$/, '.ts'), context.parentURL)
      if (existsSync(fileURLToPath(source))) return next(source.href, context)
    }
    return next(specifier, context)
  },
  load(url, context, next) {
    if (!url.startsWith('file:') || !url.endsWith('.ts')) return next(url, context)
    const source = stripTypeScriptTypes(readFileSync(fileURLToPath(url), 'utf8'), {
      mode: 'transform',
      sourceMap: true,
      sourceUrl: url,
    })
    return { format: 'module', source, shortCircuit: true }
  },
})
await import('./main.ts')
