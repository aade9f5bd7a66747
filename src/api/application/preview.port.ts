/** What is to be previewed: an application as it stands, as it would be changed, or one that does not exist yet. */
export interface PreviewRequest {
  /** null = an application that does not exist yet. */
  resourceId: string | null
  projectId: string
  project: string
  name: string
  /** The spec to plan for, without hashes of passwords: it goes into a workflow's history. */
  spec: unknown
}

export interface PreviewStep {
  nodeId: string
  /** One line, as the Temporal UI would show it. */
  summary: string
  verb: string
}

export interface PreviewResult {
  /** In the order in which they would follow; empty = nothing would change. */
  steps: PreviewStep[]
  /** False when planning did not come to an end within its limit. */
  converges: boolean
  /** What a person has to know of it, e.g. that a node did not answer, or that data does not follow to another node. */
  notes: string[]
}

/** Why there is no preview, in words for whoever asked: Temporal or the worker is away, or the application is gone. */
export class PreviewUnavailable extends Error {
  override readonly name = 'PreviewUnavailable'
}

/**
 * Runs plan() against effect() from what is there now until nothing is planned any more. Writes nothing. Implemented by
 * a short workflow; a test gives its own. Fails with PreviewUnavailable.
 */
export interface PreviewPort {
  preview(request: PreviewRequest): Promise<PreviewResult>
}
