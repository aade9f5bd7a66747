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

  /** `onChange` hears of each change of a status. */
  constructor(private readonly onChange: () => void = () => undefined) {}

  set(condition: NodeCondition): void {
    const before = this.byType.get(condition.type)?.status
    this.byType.set(condition.type, condition)
    if (before !== condition.status) this.onChange()
  }

  all(): NodeCondition[] {
    return [...this.byType.values()]
  }
}
