/** What a token may do, weakest first: each includes all before it. */
export const abilities = ['read', 'deploy', 'write', 'admin'] as const
export type Ability = (typeof abilities)[number]

/** The strongest of a token's abilities; null when it has none. */
export function strongest(held: readonly string[]): Ability | null {
  return abilities.findLast((a) => held.includes(a)) ?? null
}

export function includes(held: readonly string[], needed: Ability): boolean {
  const top = strongest(held)
  return top !== null && abilities.indexOf(top) >= abilities.indexOf(needed)
}

/**
 * What every operation needs. The one place where it is said: an operation that is not in this table is refused, and a
 * test compares it with the schema.
 */
export const abilityOf: Record<'Query' | 'Mutation' | 'Subscription', Record<string, Ability>> = {
  Query: {
    viewer: 'read',
    project: 'read',
    projects: 'read',
    secrets: 'read',
    registryCredentials: 'read',
    resource: 'read',
    application: 'read',
    applications: 'read',
    applicationPlan: 'read',
    applicationReleaseDiff: 'read',
    applicationLogTail: 'read',
    nginxdemo: 'read',
    nginxdemos: 'read',
    ingress: 'read',
    ingresses: 'read',
    domains: 'read',
    node: 'read',
    nodes: 'read',
    event: 'read',
    events: 'read',
    lastResult: 'read',
    orphans: 'read',
    tokens: 'admin',
    audit: 'admin',
  },
  Mutation: {
    projectCreate: 'write',
    projectDelete: 'write',
    projectEnvSet: 'write',
    secretSet: 'write',
    secretDelete: 'write',
    secretVersionDelete: 'write',
    registryCredentialSet: 'write',
    registryCredentialDelete: 'write',
    applicationCreate: 'write',
    /** Enough for a new image; every other field needs `write`, and two need `admin` (application-checks.ts). */
    applicationUpdate: 'deploy',
    applicationDelete: 'write',
    applicationRestart: 'deploy',
    applicationRedeploy: 'deploy',
    applicationScale: 'deploy',
    applicationSuspend: 'deploy',
    applicationResume: 'deploy',
    applicationRollback: 'deploy',
    applicationClone: 'write',
    applicationExec: 'admin',
    nginxdemoCreate: 'write',
    nginxdemoUpdate: 'write',
    nginxdemoDelete: 'write',
    ingressCreate: 'admin',
    ingressUpdate: 'admin',
    ingressDelete: 'admin',
    resourcePause: 'deploy',
    resourceResume: 'deploy',
    restoreConfirm: 'admin',
    resyncAll: 'deploy',
    actionCancel: 'deploy',
    /** Whatever it may do itself it may hand on; never more (token.resolver.ts). */
    tokenCreate: 'write',
    tokenRevoke: 'admin',
    orphanAdopt: 'admin',
    orphanRemove: 'admin',
  },
  Subscription: {
    resourceChanged: 'read',
    applicationLogs: 'read',
    events: 'read',
  },
}
