/** A condition of the node as the heartbeat carries it; the control plane keeps transitions and times. */
export interface NodeCondition {
  type: string
  status: 'True' | 'False' | 'Unknown'
  reason: string
  message: string
}

/** The newest condition of each type. */
export class NodeConditions {
  private readonly byType = new Map<string, NodeCondition>()

  set(condition: NodeCondition): void {
    this.byType.set(condition.type, condition)
  }

  all(): NodeCondition[] {
    return [...this.byType.values()]
  }
}
