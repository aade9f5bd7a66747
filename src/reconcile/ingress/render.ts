import type { IngressSpec, IngressTarget, Rendered } from './spec.js'

/** Caddy's configuration for these settings and targets. */
export function renderCaddyConfig(
  _settings: IngressSpec,
  _targets: IngressTarget[],
  _refused: ReadonlyMap<string, string>,
): Rendered {
  return { config: {}, secrets: [], files: [], leftOut: [], certificates: [] }
}
