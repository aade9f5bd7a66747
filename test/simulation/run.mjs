import { registerHooks } from 'node:module'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

// Runs TypeScript as it lies here: imports say `.js`, as NodeNext wants it, and the files are `.ts`.
registerHooks({
  resolve(specifier, context, next) {
    if (specifier.startsWith('.') && specifier.endsWith('.js') && context.parentURL) {
      const source = new URL(specifier.replace(/\.js$/, '.ts'), context.parentURL)
      if (existsSync(fileURLToPath(source))) return next(source.href, context)
    }
    return next(specifier, context)
  },
})
await import('./main.ts')
